"""The datasets that can be ingested, by name."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from nightjar.benchmarks import registry
from nightjar.core import tables
from nightjar.core.contracts import DOCUMENTS, INSTANCES, RECORDS, TASKS
from nightjar.core.errors import NightjarError
from stages.ingest.accounts import Progress, Statistics
from stages.ingest.corpus import ingest_corpus
from stages.ingest.natural_instructions import COPIED, ingest_natural_instructions
from stages.ingest.records import ingest_records

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
    folder that is not there or has no files of it, or one in which nothing can be used; OSError for a full disk.
    """
    _check_name(dataset)
    if dataset == "corpus":
        return ingest_corpus(input, output, progress, encodings=encodings)
    if dataset in DATASETS:
        return DATASETS[dataset](input, output, progress)
    return ingest_records(registry.card(dataset), input, output, progress, encodings)


def names() -> list[str]:
    """The datasets that can be ingested: Nightjar's own, and those of benchmarks whose cards read their own files."""
    return [*DATASETS, *(name for name in registry.names() if registry.card(name).load is not None)]


def _check_name(dataset: str) -> None:
    if dataset not in names():
        raise NightjarError(f"unknown dataset {dataset!r}", "ingest", f"choose one of {', '.join(names())}")
