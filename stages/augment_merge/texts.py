"""The texts that calls are merged into, and the documents that are held out of every training."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path

from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from stages.augment_merge.merge import Body, Key


def read_bodies(corpus: Path, split: Path) -> Iterator[tuple[Key, Body]]:
    """Every text that calls may have been sampled for: the documents, then the targets of training instances."""
    for batch in tables.batches(corpus, contracts.DOCUMENTS, ["id", "text"]):
        for row in batch.to_pylist():
            yield ("corpus", None, row["id"], 0), Body(row["text"].strip())
    for batch in tables.batches(split, contracts.TRAIN, ["task_id", "id", "input", "outputs"]):
        for row in batch.to_pylist():
            for target, output in enumerate(row["outputs"]):
                yield ("train", row["task_id"], row["id"], target), Body(output.strip(), row["input"])


def held_out(ids: Collection[str], number: int, seed: int) -> frozenset[str]:
    """The `number` documents that no model trains on: those with the smallest digest of seed and id.

    Which of two documents is held out first does not depend on the others. Raises NightjarError if none is left.
    """
    if number and number >= len(ids):
        what = f"{number} documents cannot be held out of {len(ids)}"
        raise NightjarError(what, "params.yaml: augment.held_out_documents", "set a smaller number")
    order = sorted(ids, key=lambda id: hashlib.blake2b(f"{seed}\n{id}".encode()).digest())
    return frozenset(order[:number])
