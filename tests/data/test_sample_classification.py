"""The sample's classification tasks: their forms and counts, read by the benchmark's own loader."""

from __future__ import annotations

from collections import Counter

import pytest

from nightjar.benchmarks.classification.formats import load
from nightjar.benchmarks.classification.tasks import LABELS
from tests.data.sample import SAMPLE, records

# The sample has no pairs of sentences.
TASKS = sorted(set(LABELS) - {"rte", "qnli", "mrpc"})
FOLDER = SAMPLE / "classification"


def sentences(task: str, side: str) -> list[tuple[str, str]]:
    """(text, label) of a side."""
    return [
        (row.parts["text"], row.references[0])
        for row in records(load, "classification")
        if row.task_id == task and row.parts["side"] == side
    ]


def test_every_task_is_there_and_small() -> None:
    assert {row.task_id for row in records(load, "classification")} == set(TASKS)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 150_000
    for task in TASKS:
        sizes = [len(sentences(task, side)) for side in ("train", "dev", "test")]
        assert 45 <= sizes[0] <= 57 and 5 <= sizes[1] <= 8 and sizes[2] == 24, (task, sizes)


@pytest.mark.parametrize("task", TASKS)
def test_no_sentence_occurs_twice_and_every_label_is_on_each_side(task: str) -> None:
    texts = [text.casefold() for side in ("train", "dev", "test") for text, _ in sentences(task, side)]
    assert len(set(texts)) == len(texts)
    for side in ("train", "test"):
        counts = Counter(label for _, label in sentences(task, side))
        assert set(counts) == {label.name for label in LABELS[task]}
        assert max(counts.values()) <= 3 * min(counts.values())
