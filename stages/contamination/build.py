"""Writes data/contamination: which test instances share runs of words with what is trained on, and how many a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nightjar.core import tables
from nightjar.core.contracts import DEV, DOCUMENTS, OVERLAPS, SUPERVISED, TASK_OVERLAPS, TEST, TRAIN
from stages.contamination.held import Held, Overlap, Source

CORPUS = "corpus"
SIDES = (TRAIN, DEV, SUPERVISED)
# What `any` is about: the supervised bound is trained on the test tasks themselves, the compared systems are not.
ANY, OF_ANY = "any", frozenset({TRAIN.name, DEV.name, CORPUS})
# Letters of training texts that are looked at in one go.
_BATCH = 4_000_000


def build(split: Path, corpus: Path, output: Path, n: int) -> dict[str, Any]:
    """Write the artifact `output`; returns the facts: instances, texts and distinct n-grams looked at, and by side the
    instances with an overlap. Raises NightjarError if a table is not there."""
    test = tables.read(split, TEST)
    held = Held(_one(test["input"]), _one(test["outputs"]), n)
    texts = {side.name: _hold(held, side.name, _instances(split, side)) for side in SIDES}
    texts[CORPUS] = _hold(held, CORPUS, _documents(corpus))
    rows = test.select(["track", "category", "task_id", "id"]).to_pylist()
    overlaps = held.overlaps()
    by_task = task_rows(rows, overlaps)
    with tables.ArtifactWriter(output) as writer:
        writer.write(OVERLAPS, [_row(rows[it.row], it) for it in overlaps])
        writer.write(TASK_OVERLAPS, by_task)
    shares = {
        side: {name: sum(row[name] for row in by_task if row["side"] == side) for name in _COUNTS}
        for side in (*texts, ANY)
    }
    return {"ngram": n, "instances": len(rows), "texts": texts, "ngrams": len(held.grams), "sides": shares}


_COUNTS = ("by_input", "by_reference", "overlapping", "mostly", "short_references")


def task_rows(rows: list[dict[str, Any]], overlaps: list[Overlap]) -> list[dict[str, Any]]:
    """For every test task and side how many of its instances have an overlap, by what.

    A reference shorter than an n-gram that equals a training text is most often a label: that is counted apart and is
    no overlap.
    """
    instances = Counter((row["track"], row["category"], row["task_id"]) for row in rows)
    found: dict[tuple[str, str], dict[str, set[int]]] = {}
    for it in overlaps:
        if it.part == "input":
            names = ["by_input", "overlapping", *(["mostly"] if it.mostly else [])]
        else:
            names = ["by_reference", "overlapping"] if it.kind == "ngram" else ["short_references"]
        for side in (it.side, *([ANY] if it.side in OF_ANY else [])):
            of_side = found.setdefault((rows[it.row]["task_id"], side), {name: set() for name in _COUNTS})
            for name in names:
                of_side[name].add(it.row)
    told = []
    for (track, category, task), number in sorted(instances.items(), key=lambda item: item[0][2]):
        for side in (*(side.name for side in SIDES), CORPUS, ANY):
            counts = {name: len(found.get((task, side), {}).get(name, ())) for name in _COUNTS}
            head = {"track": track, "category": category, "task_id": task, "side": side, "instances": number}
            told.append({**head, **counts, "share": counts["overlapping"] / number})
    return told


def _row(instance: dict[str, Any], it: Overlap) -> dict[str, Any]:
    names = ("part", "side", "kind", "ngrams", "matched", "text")
    source = {"source_task_id": it.source.task_id, "source_id": it.source.id, "source_part": it.source.part}
    return {**instance, **{name: getattr(it, name) for name in names}, **source}


def _hold(held: Held, side: str, batches: Iterator[tuple[pa.Array, list[Source]]]) -> int:
    """Hold all texts of a side against the test side; returns how many there were."""
    held.add(side, pa.array([], pa.string()), list[Source]().__getitem__)
    number = 0
    for texts, sources in batches:
        held.add(side, texts, sources.__getitem__)
        number += len(texts)
    return number


def _instances(split: Path, side: Any) -> Iterator[tuple[pa.Array, list[Source]]]:
    """Inputs and outputs of a side's instances, many tasks in a batch: tasks are small and every batch has a price."""
    columns = ["task_id", "id", "input", "outputs"]
    for table in _gathered(tables.batches(split, side, columns)):
        outputs = _one(table["outputs"])
        tasks, ids = table["task_id"].to_pylist(), table["id"].to_pylist()
        sources = [Source(task, id, "input") for task, id in zip(tasks, ids, strict=True)]
        parents = pc.list_parent_indices(outputs).to_pylist()
        sources += [Source(tasks[row], ids[row], "output") for row in parents]
        yield pa.concat_arrays([_one(table["input"]), pc.list_flatten(outputs)]), sources


def _documents(corpus: Path) -> Iterator[tuple[pa.Array, list[Source]]]:
    for table in _gathered(tables.batches(corpus, DOCUMENTS, ["id", "text"])):
        yield _one(table["text"]), [Source(None, id, "text") for id in table["id"].to_pylist()]


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        for start in range(0, len(batch), 2048):
            piece = batch.slice(start, 2048)
            waiting.append(piece)
            size += piece.nbytes
            if size >= _BATCH:
                yield pa.Table.from_batches(waiting)
                waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _one(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined
