"""The sample's questions with several answers: their forms and counts, read by the benchmark's own reader."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from nightjar.benchmarks.protoqa.formats import load
from nightjar.benchmarks.question import Record
from tests.data.sample import records

PAIRS = "train.question_answer_pairs"
# By the filters.
LABELS = {"taxonomic": 3, "stereotype": 1}


def of(task: str) -> list[Record]:
    return [row for row in records(load, "protoqa") if row.task_id == task]


def test_answers_of_a_hundred_people() -> None:
    for row in of("dev.sample"):
        clusters, raw = row.parts["clusters"], row.parts["raw"]
        assert sum(raw.values()) == 100 and 5 <= len(clusters) <= 9
        strings = [string for it in clusters for string in it["answers"]]
        assert len(strings) == len(set(strings))
        assert all(it["count"] == sum(raw[string] for string in it["answers"]) for it in clusters)
        counts = [it["count"] for it in clusters]
        assert counts == sorted(counts, reverse=True) and min(counts) > 0
        # Some people said what nobody else did.
        assert raw.keys() > set(strings) and sum(counts) >= 97
        assert [text for text in row.remarks if not text.startswith("label: ")] == [
            "raw answers are in no cluster"
        ]
        assert all(string == string.lower().strip()[:50] for string in raw)
    labels = Counter(label for row in of("dev.sample") for label in row.parts["labels"])
    assert labels == LABELS
    assert all(len(it["answers"]) == 1 for row in of("dev.single") for it in row.parts["clusters"])


def test_no_question_is_on_two_sides() -> None:
    sides = [
        {row.parts["question"].lower() for row in of(task)} for task in ("dev.sample", "dev.single", PAIRS)
    ]
    assert [len(side) for side in sides] == [30, 10, 60]
    assert len(set.union(*sides)) == 100


def test_nothing_is_of_the_published_set(real_data: Path) -> None:
    folder = real_data / "protoqa"
    known = {
        json.loads(line)["question"]["normalized"].strip()
        for path in folder.glob("*.jsonl")
        if ".predictions." not in path.name and "assessments" not in path.name
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    pairs = (folder / f"{PAIRS}.txt").read_text(encoding="utf-8").splitlines()
    known |= {line.split("\t")[0].strip() for line in pairs}
    assert len(known) > 9000
    assert not known & {row.parts["question"].lower() for row in records(load, "protoqa")}
