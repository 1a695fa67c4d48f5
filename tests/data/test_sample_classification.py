"""The sample's classification tasks: their forms and counts, read by the benchmark's own loader."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from nightjar.benchmarks.classification.formats import load
from nightjar.benchmarks.classification.tasks import LABELS
from nightjar.benchmarks.question import Record

# The sample has no pairs of sentences.
TASKS = sorted(set(LABELS) - {"rte", "qnli", "mrpc"})
FOLDER = Path(__file__).parents[2] / "data" / "sample" / "classification"


@cache
def records() -> list[Record]:
    rows = list(load(FOLDER))
    assert all(isinstance(row, Record) for row in rows), "no line of the sample is refused"
    return [row for row in rows if isinstance(row, Record)]


def sentences(task: str, side: str) -> list[tuple[str, str]]:
    """(text, label) of a side."""
    return [
        (row.parts["text"], row.references[0])
        for row in records()
        if row.task_id == task and row.parts["side"] == side
    ]


def test_every_task_is_there_and_small() -> None:
    assert {row.task_id for row in records()} == set(TASKS)
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


def test_some_files_are_latin_1_with_letters_beyond_ascii() -> None:
    latin = []
    for path in FOLDER.iterdir():
        try:
            path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            latin.append(path.name)
    assert sorted(latin) == [
        "TREC.test", "TREC.train", "rt-polarity.neg", "rt-polarity.pos", "subj.objective", "subj.subjective",
    ]  # fmt: skip
    assert "é" in (FOLDER / "rt-polarity.pos").read_bytes().decode("latin-1")


def test_claims_have_the_form_of_fever() -> None:
    rows = [json.loads(line) for line in (FOLDER / "fever.paper_dev.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 81 == len({row["id"] for row in rows})
    for row in rows:
        assert list(row) == ["id", "verifiable", "label", "claim", "evidence"]
        known = row["label"] != "NOT ENOUGH INFO"
        assert row["verifiable"] == ("VERIFIABLE" if known else "NOT VERIFIABLE")
        assert (row["evidence"][0][0][2] is not None) == known
