"""A benchmark that no project has ingested: published files, or a task file, with the parameters that it is asked by.

In a project these are the project's own; elsewhere those of the profile PROFILE, which is installed with Nightjar. The
settings of the benchmark are the defaults of its card.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nightjar.benchmarks import question_artifact
from nightjar.benchmarks.question_set import QuestionSet, check_settings
from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE, read_yaml
from nightjar.core.packaged import packaged_folder
from nightjar.params import Params, profile_values
from nightjar.params.groups import ALL_TOOLS

log = logging.getLogger("nightjar")

# The settings of the papers.
PROFILE = "real"
# The tools that read nothing of a project.
WITHOUT_INDEX = ("calculator", "calendar")


def values_for(card: QuestionSet, data: Path) -> dict[str, Any]:
    """The values of params.yaml for a benchmark whose data are the folder or file `data`, without any system."""
    project = PARAMS_FILE.is_file()
    values = read_yaml(PARAMS_FILE) if project else profile_values.values(packaged_folder(), PROFILE)
    task_source = card.task_source
    none = paths.NONE.as_posix()
    values["benchmarks"] = {
        card.name: {
            **card.Settings().model_dump(mode="json"),
            "code": task_source.file.as_posix() if task_source else card.name,
            "data": data.as_posix(),
            "split": none,
            "encoder": none,
        }
    }
    values["predict"]["systems"] = {}
    if task_source:
        longest = max((task.max_new_tokens or 0 for task in card.tasks.values()), default=0)
        values["predict"][card.name] = {"max_new_tokens": longest}
    values["predict"].setdefault(card.name, {})
    # What the graph makes for its own questions.
    for group in ("retrieve", "rerank", "consistency"):
        values[group]["benchmarks"] = {}
    if not project:
        values["train"]["recipes"] = values["readers"]["recipes"] = {}
        values["augment"]["tools"] = {name: values["augment"]["tools"][name] for name in WITHOUT_INDEX}
        values["tools"][ALL_TOOLS] = {name: values["tools"][ALL_TOOLS][name] for name in WITHOUT_INDEX}
    return values


@contextmanager
def questions_of(card: QuestionSet, params: Params) -> Iterator[Path]:
    """A folder with the artifact of the card's questions, by its name, for the block of a `with`."""
    group = params.benchmarks[card.name]
    task_source = card.task_source
    settings = check_settings(card, group.settings(), "--set")
    with (
        TemporaryDirectory() as folder,
        question_artifact.opened(card, Path(group.data)) as (sources, refused),
    ):
        output, code = Path(folder) / card.name, task_source.file if task_source else None
        counts, _ = question_artifact.write_questions(
            card, sources, settings, params.seed, output, code, training=False, refused=refused
        )
        if refused:
            first = f"{refused[0].file}: {refused[0].reason}"
            log.warning(
                "warning: %d rows of %s are refused, the first in %s", len(refused), group.data, first
            )
        log.info("%d questions of %s", sum(counts.values()), group.data)
        yield Path(folder)
