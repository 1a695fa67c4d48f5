"""The sample's questions with several answers: their forms and counts, read by the benchmark's own reader."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

from nightjar.benchmarks.protoqa.formats import load
from nightjar.benchmarks.question import Record

FOLDER = Path(__file__).parents[2] / "data" / "sample" / "protoqa"
PAIRS = "train.question_answer_pairs"
# By the filters.
LABELS = {"taxonomic": 3, "stereotype": 1}


@cache
def records() -> list[Record]:
    rows = list(load(FOLDER))
    assert all(isinstance(row, Record) for row in rows), "no line of the sample is refused"
    return [row for row in rows if isinstance(row, Record)]


def of(task: str) -> list[Record]:
    return [row for row in records() if row.task_id == task]


def test_counts() -> None:
    assert Counter(row.task_id for row in records()) == {"dev.sample": 30, "dev.single": 10, PAIRS: 300}
    assert set(Counter(row.parts["question"] for row in of(PAIRS)).values()) == {5}
    assert len({(row.parts["question"], row.references) for row in of(PAIRS)}) == 300


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


def test_people_answer_every_question_in_their_own_order() -> None:
    lines = (FOLDER / "dev.predictions.human.jsonl").read_text(encoding="utf-8").splitlines()
    lists = {id: answers for line in lines for id, answers in json.loads(line).items()}
    assert lists.keys() == {row.id for row in of("dev.sample")}
    for row in of("dev.sample"):
        answers = lists[row.id]
        assert 5 <= len(answers) == len(set(answers)) <= 30 and set(answers) <= row.parts["raw"].keys()


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
    assert not known & {row.parts["question"].lower() for row in records()}
