"""The reader of a run of any harness: names of files say which form it has."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks.evaluation_folder import RECORD
from nightjar.core.errors import NightjarError
from nightjar.core.files import kind
from nightjar.harness import evaluation_folders, inspect_logs, lm_eval_samples
from nightjar.harness.samples import HarnessRun

FORMS = (
    "give samples of lm-evaluation-harness (samples_TASK_DATE.jsonl), a log of inspect_ai (.eval, .json), a folder "
    "of either, or a folder of nightjar evaluate"
)


def read_run(path: Path) -> HarnessRun:
    """Read a run. Raises NightjarError for what is no run, and for what its reader refuses."""
    if not kind(path):
        raise NightjarError("no such file or folder", path, "check the path")
    if (path / RECORD).is_file():
        return evaluation_folders.read(path)
    if not path.is_dir():
        if path.suffix == ".jsonl":
            return lm_eval_samples.read(path)
        if path.suffix in (".eval", ".json"):
            return inspect_logs.read(path)
        raise NightjarError("no run of a harness, by its name", path, FORMS)
    samples, logs = lm_eval_samples.sample_files(path), inspect_logs.log_files(path)
    if samples and logs:
        raise NightjarError(
            "it has samples of lm-evaluation-harness and logs of inspect_ai", path, "name one file"
        )
    if not samples and not logs:
        raise NightjarError("no run of a harness in it", path, FORMS)
    return lm_eval_samples.read(path) if samples else inspect_logs.read(path)
