"""The texts that calls are merged into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nightjar.core import contracts, tables
from stages.augment_merge.chains import Key
from stages.augment_merge.merge import Body


def read_bodies(corpus: Path, split: Path) -> Iterator[tuple[Key, Body]]:
    """Every text that calls may have been sampled for: the documents, then the targets of training instances."""
    for batch in tables.batches(corpus, contracts.DOCUMENTS, ["id", "text"]):
        for row in batch.to_pylist():
            yield ("corpus", None, row["id"], 0), Body(row["text"].strip())
    for batch in tables.batches(split, contracts.TRAIN, ["task_id", "id", "input", "outputs"]):
        for row in batch.to_pylist():
            for target, output in enumerate(row["outputs"]):
                yield ("train", row["task_id"], row["id"], target), Body(output.strip(), row["input"])
