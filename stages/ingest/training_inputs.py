"""A corpus made of a split's training inputs: for tasks that come without documents of their own.

Only the table `train` of the split becomes documents. An input that is also one of a test or dev instance is refused,
as is one that another document has already (white space at the ends does not count).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nightjar.core.contracts import DEV, DOCUMENTS, SPLIT_TASKS, TEST, TRAIN
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ArtifactWriter, batches
from stages.ingest.accounts import Ledger, Progress, Refused, Statistics

DATASET = "natural_instructions"
SOURCE = "training inputs"
ROWS_PER_PART = 32_768
_COLUMNS = ["dataset", "file", "task_id", "id", "input"]


def is_split(path: Path) -> bool:
    """Whether the folder is an artifact of the stage split."""
    return (path / SPLIT_TASKS.name).is_dir()


def ingest_training_inputs(
    path: Path, output: Path, most: int | None = None, seed: int = 0, progress: Progress | None = None
) -> Statistics:
    """Write the training inputs of the split at `path` as documents into the artifact `output`.

    A document's id is TASK_ID:ID, its title the task's id, its file the raw file of the task. At most `most` inputs
    are taken, drawn by `seed`; a larger bound keeps those of a smaller one. Raises NightjarError if the split has no
    training instances, or none can be used.
    """
    with ArtifactWriter(output) as writer:
        ledger = Ledger(DATASET, writer)
        documents = list(_documents(path, ledger))
        if not ledger.statistics.rows_in:
            raise NightjarError(
                "it has no training instances", path, "set ingest.corpus.path to a folder of documents"
            )
        places = list(range(len(documents)))
        if most is not None and most < len(documents):
            random.Random(f"{seed} corpus").shuffle(places)
            for place in sorted(places[most:]):
                row = documents[place]
                ledger.refuse(row["file"], Refused("beyond ingest.corpus.max_inputs", row["text"], row["id"]))
            places = sorted(places[:most])
        for part, start in enumerate(range(0, len(places), ROWS_PER_PART)):
            rows = [documents[place] for place in places[start : start + ROWS_PER_PART]]
            ledger.statistics.rows_out += writer.write(DOCUMENTS, rows, part=f"part-{part:05d}")
        if progress:
            progress(ledger.statistics.bytes, ledger.statistics.bytes)
        return ledger.close(path)


def _documents(path: Path, ledger: Ledger) -> Iterator[dict[str, Any]]:
    """The documents that may be taken, in the order of the split; the ledger gets the others and the counts."""
    numbers = ledger.statistics
    numbers.source = SOURCE
    held_out = {
        row["input"].strip(): f"the input of a {table.name} instance"
        for table in (DEV, TEST)
        for batch in batches(path, table, ["input"])
        for row in batch.to_pylist()
    }
    seen: dict[str, str] = {}
    files: set[str] = set()
    for batch in batches(path, TRAIN, _COLUMNS):
        for row in batch.to_pylist():
            files.add(row["file"])
            numbers.rows_in += 1
            numbers.bytes += len(row["input"].encode())
            id, text = f"{row['task_id']}:{row['id']}", row["input"].strip()
            if text in held_out:
                ledger.refuse(row["file"], Refused(held_out[text], row["input"], id))
            elif text in seen:
                same = Refused("the same input as another document", row["input"], id, seen[text])
                ledger.refuse(row["file"], same)
            else:
                seen[text] = id
                yield {
                    "dataset": row["dataset"],
                    "file": row["file"],
                    "id": id,
                    "title": row["task_id"],
                    "text": row["input"],
                    "url": "",
                    "date": None,
                }
    numbers.files = len(files)
