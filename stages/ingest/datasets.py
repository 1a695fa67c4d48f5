"""The datasets that can be ingested, by name.

Those of a benchmark whose card reads its own files become rows of contracts.RECORDS, one part a task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from nightjar.benchmarks import question_registry
from nightjar.benchmarks.folders import OWN
from nightjar.benchmarks.question import Refused
from nightjar.benchmarks.question_artifact import record_row, rows_of
from nightjar.benchmarks.question_registry import load_question_set
from nightjar.benchmarks.question_set import QuestionSet
from nightjar.core import tables
from nightjar.core.contracts import DOCUMENTS, INSTANCES, RECORDS, TASKS
from nightjar.core.errors import NightjarError
from nightjar.core.identity import safe_name
from nightjar.core.tables import ArtifactWriter
from stages.ingest.accounts import Ledger, Progress, RefusedRow, Statistics
from stages.ingest.corpus import ingest_corpus
from stages.ingest.natural_instructions import COPIED, ingest_natural_instructions

DATASETS = {"natural_instructions": ingest_natural_instructions, "corpus": ingest_corpus}
# What an artifact of the dataset holds: its tables, and other files.
_HOLDS = {"natural_instructions": ((TASKS, INSTANCES), COPIED), "corpus": ((DOCUMENTS,), frozenset[str]())}

__all__ = ["DATASETS", "Progress", "Statistics", "ingest", "names", "output_folder"]


def output_folder(dataset: str, input: Path, output: Path) -> AbstractContextManager[Path]:
    """The folder that takes the place of `output` when it is done, as in `core.files.folder_output`.

    Nothing but an older artifact of the same tables is replaced. Raises NightjarError also for an unknown dataset.
    """
    _check_name(dataset)
    contracts, files = _HOLDS.get(dataset, ((RECORDS,), frozenset[str]()))
    return tables.artifact_output(output, contracts, files, [input])


def ingest(
    dataset: str,
    input: Path,
    output: Path,
    progress: Progress | None = None,
    encodings: Mapping[str, str] | None = None,
) -> Statistics:
    """Read the dataset's own files in `input` into the artifact `output`.

    `progress` is called with the bytes read so far and in all. `encodings` are for the corpus and for datasets that a
    card reads: pattern of a file's path in the folder to its encoding. Raises NightjarError for an unknown dataset, a
    folder that is missing or has no files of it, or one in which nothing can be used; OSError for a full disk.
    """
    _check_name(dataset)
    if dataset == "corpus":
        return ingest_corpus(input, output, progress, encodings=encodings)
    if dataset in DATASETS:
        return DATASETS[dataset](input, output, progress)
    return ingest_records(load_question_set(dataset), input, output, progress, encodings)


def names() -> list[str]:
    """The datasets that can be ingested: Nightjar's own, and those of benchmarks whose cards read their own files."""
    cards = {name: load_question_set(name) for name in question_registry.benchmark_names()}
    return [
        *DATASETS,
        *(name for name, card in cards.items() if card.loads_files and not DATASETS.keys() & card.datasets),
    ]


def _check_name(dataset: str) -> None:
    if dataset not in OWN and dataset not in names():
        raise NightjarError(f"unknown dataset {dataset!r}", "ingest", f"choose one of {', '.join(names())}")


def ingest_records(
    card: QuestionSet,
    path: Path,
    output: Path,
    progress: Progress | None = None,
    encodings: Mapping[str, str] | None = None,
) -> Statistics:
    """Read the card's files in `path` into the artifact `output`; what `load` refuses is kept with the reason.

    `encodings`: pattern of a file's path in the folder to its encoding. Raises NightjarError if the folder is not
    there, nothing in it can be used, or the card takes no encodings.
    """
    if not path.is_dir():
        raise NightjarError("no such folder", path, f"give the folder of {card.title}")
    tasks: dict[str, list[dict[str, Any]]] = {}
    files: set[str] = set()
    remarks: Counter[str] = Counter()
    with ArtifactWriter(output) as writer:
        ledger = Ledger(card.name, writer)
        numbers = ledger.statistics
        for result in rows_of(card, path, encodings):
            numbers.rows_in += 1
            files.add(result.file)
            if isinstance(result, Refused):
                ledger.refuse(result.file, RefusedRow(result.reason, result.raw, result.id))
            else:
                remarks.update(result.remarks)
                tasks.setdefault(result.task_id, []).append(record_row(card.name, result))
        for task, rows in sorted(tasks.items()):
            numbers.rows_out += writer.write(RECORDS, rows, part=safe_name(task))
        numbers.tasks, numbers.files = len(tasks), len(files)
        numbers.remarks = dict(sorted(remarks.items())) or None
        numbers.bytes = sum((path / name).stat().st_size for name in files if (path / name).is_file())
        if progress:
            progress(numbers.bytes, numbers.bytes)
        return ledger.close(path)
