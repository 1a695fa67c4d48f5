"""The datasets that can be ingested, by name."""

from __future__ import annotations

from pathlib import Path

from stages.errors import NightjarError
from stages.ingest.accounts import Progress, Statistics
from stages.ingest.corpus import ingest_corpus
from stages.ingest.natural_instructions import ingest_natural_instructions

DATASETS = {"natural_instructions": ingest_natural_instructions, "corpus": ingest_corpus}

__all__ = ["DATASETS", "Progress", "Statistics", "ingest"]


def ingest(dataset: str, input: Path, output: Path, progress: Progress | None = None) -> Statistics:
    """Read the dataset's own files in `input` into the artifact `output`.

    `progress` is called with the bytes read so far and in all. Raises NightjarError for an unknown dataset, a
    folder that is not there or has no files of it, or one in which nothing can be used; OSError for a full
    disk.
    """
    if dataset not in DATASETS:
        raise NightjarError(f"unknown dataset {dataset!r}", "ingest", f"choose one of {', '.join(DATASETS)}")
    return DATASETS[dataset](input, output, progress)
