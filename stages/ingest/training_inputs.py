"""A corpus made of a split's training inputs: for tasks that come without documents of their own.

Only the table `train` of the split becomes documents. An input that is also one of a test or dev instance is refused,
as is one that another document has already (white space at the ends does not count).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from nightjar.core.contracts import DEV, DOCUMENTS, SPLIT_TASKS, TEST, TRAIN
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter, batches
from stages.ingest.accounts import Ledger, Progress, RefusedRow, Statistics

DATASET = "natural_instructions"
SOURCE = "training inputs"
ROWS_PER_PART = 32_768
_COLUMNS = ["dataset", "file", "task_id", "id", "input"]


def is_split(path: Path) -> bool:
    """Tell whether the folder is an artifact of the stage split."""
    return (path / SPLIT_TASKS.name).is_dir()


def ingest_training_inputs(
    path: Path, output: Path, limit: int | None = None, seed: int = 0, progress: Progress | None = None
) -> Statistics:
    """Write the training inputs of the split at `path` as documents into the artifact `output`.

    A document's id is TASK_ID:ID, its title the task's id, its file the raw file of the task. At most `limit` inputs
    are taken, drawn by `seed`; a larger bound keeps those of a smaller one. Raises NightjarError if the split has no
    training instances, or none can be used.
    """
    with ArtifactWriter(output) as writer:
        ledger = Ledger(DATASET, writer)
        numbers = ledger.statistics
        taken = _choose(path, ledger)
        if not numbers.rows_in:
            raise NightjarError(
                "it has no training instances", path, "set ingest.corpus.path to a folder of documents"
            )
        if limit is not None and limit < len(taken):
            random.Random(f"{seed} corpus").shuffle(taken)
        beyond_limit = frozenset(taken[limit:] if limit is not None else ())
        documents = _documents(path, frozenset(taken), beyond_limit, ledger)
        numbers.rows_out = writer.write_parts(DOCUMENTS, documents, ROWS_PER_PART)
        if progress:
            progress(numbers.bytes, numbers.bytes)
        return ledger.close(path)


def _choose(path: Path, ledger: Ledger) -> list[int]:
    """The places, in the table of training instances, of the inputs that may be taken; the ledger gets the others and
    the counts. Of the texts only digests are kept.
    """
    numbers = ledger.statistics
    numbers.source = SOURCE
    held_out = {
        _digest(text): f"the input of a {table.name} instance"
        for table in (DEV, TEST)
        for batch in batches(path, table, ["input"])
        for text in batch["input"].to_pylist()
    }
    known_inputs: dict[bytes, str] = {}
    files: set[str] = set()
    taken: list[int] = []
    for place, row in enumerate(_rows(path)):
        files.add(row["file"])
        numbers.rows_in += 1
        numbers.bytes += len(row["input"].encode())
        id, key = f"{row['task_id']}:{row['id']}", _digest(row["input"])
        if key in held_out:
            ledger.refuse(row["file"], RefusedRow(held_out[key], row["input"], id))
        elif key in known_inputs:
            same = RefusedRow("the same input as another document", row["input"], id, known_inputs[key])
            ledger.refuse(row["file"], same)
        else:
            known_inputs[key] = id
            taken.append(place)
    numbers.files = len(files)
    return taken


def _documents(
    path: Path, taken: frozenset[int], beyond_limit: frozenset[int], ledger: Ledger
) -> Iterator[dict[str, Any]]:
    """The documents at the places `taken`; the ledger gets those of them that are `beyond_limit` out."""
    for place, row in enumerate(_rows(path)):
        if place not in taken:
            continue
        id = f"{row['task_id']}:{row['id']}"
        if place in beyond_limit:
            ledger.refuse(row["file"], RefusedRow("beyond ingest.corpus.max_inputs", row["input"], id))
            continue
        source = {"dataset": row["dataset"], "file": row["file"]}
        yield {**source, "id": id, "title": row["task_id"], "text": row["input"], "url": "", "date": None}


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for batch in batches(path, TRAIN, _COLUMNS):
        yield from batch.to_pylist()


def _digest(text: str) -> bytes:
    """Of a text without the white space at its ends."""
    return blake2b(text.strip().encode(), digest_size=16).digest()
