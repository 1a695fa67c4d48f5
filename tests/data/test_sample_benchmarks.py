"""The sample's sentences, opinions and long documents, by the loaders of their benchmarks: no leak, right answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.classification import formats as sentences
from nightjar.benchmarks.classification.tasks import LABELS
from nightjar.benchmarks.protoqa import formats as opinions
from nightjar.benchmarks.question import Record
from nightjar.benchmarks.zeroscrolls import formats as documents
from nightjar.benchmarks.zeroscrolls.prompts import built, of_parts
from nightjar.benchmarks.zeroscrolls.tasks import TASKS
from tests.data.sample import records

CLASSIFIED = partial(records, sentences.load, "classification")
ASKED = partial(records, opinions.load, "protoqa")
LONG = partial(records, documents.load, "zeroscrolls")
PAIRS = "train.question_answer_pairs"


@pytest.mark.parametrize("task", sorted(set(LABELS) - {"rte", "qnli", "mrpc"}))
def test_no_sentence_is_a_duplicate_and_every_label_is_on_each_side(task: str) -> None:
    """The sample has no pairs of sentences."""
    rows = [row for row in CLASSIFIED() if row.task_id == task]
    assert len({row.parts["text"].casefold() for row in rows}) == len(rows) > 70
    for side in ("train", "test"):
        counts = Counter(row.references[0] for row in rows if row.parts["side"] == side)
        assert set(counts) == {label.name for label in LABELS[task]}
        assert max(counts.values()) <= 3 * min(counts.values())


def test_answers_of_a_hundred_people() -> None:
    for row in (row for row in ASKED() if row.task_id == "dev.sample"):
        clusters, raw = row.parts["clusters"], row.parts["raw"]
        assert sum(raw.values()) == 100 and 5 <= len(clusters) <= 9
        strings = [string for it in clusters for string in it["answers"]]
        assert len(strings) == len(set(strings))
        assert all(it["count"] == sum(raw[string] for string in it["answers"]) for it in clusters)
        # Some people said what nobody else did.
        assert raw.keys() > set(strings) and sum(it["count"] for it in clusters) >= 97


def test_no_question_is_on_two_sides() -> None:
    sides: dict[str, set[str]] = {}
    for row in ASKED():
        sides.setdefault(row.task_id, set()).add(row.parts["question"].lower())
    assert {task: len(side) for task, side in sides.items()} == {
        "dev.sample": 30,
        "dev.single": 10,
        PAIRS: 60,
    }
    assert len(set.union(*sides.values())) == 100


def test_no_question_is_of_the_published_set(real_data: Path) -> None:
    folder = real_data / "protoqa"
    known = {
        json.loads(line)["question"]["normalized"].strip()
        for path in folder.glob("*.jsonl")
        if ".predictions." not in path.name and "assessments" not in path.name
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    pairs = (folder / f"{PAIRS}.txt").read_text(encoding="utf-8").splitlines()
    known |= {line.split("\t")[0].strip() for line in pairs}
    assert len(known) > 9000 and not known & {row.parts["question"].lower() for row in ASKED()}


def document(row: Record) -> str:
    return of_parts(row.parts).document(TASKS[row.task_id].document)


def test_every_task_has_short_documents_and_references() -> None:
    counts = Counter(row.task_id for row in LONG())
    assert counts == dict(zip(TASKS, (2, 2, 3, 3, 4, 3, 3, 3, 2, 4), strict=True))
    assert all(120 <= len(document(row).split()) <= 400 and all(row.references) for row in LONG())
    assert len({document(row) for row in LONG()}) == 18


@pytest.mark.parametrize("task", TASKS)
def test_prompts_have_the_published_layout(task: str) -> None:
    """Rows of the benchmark's own files, which are read as they are, equal what is built of their texts."""
    for row in (row for row in LONG() if row.task_id == task):
        example = of_parts(row.parts)
        query = example.query.removeprefix(TASKS[task].query).strip()
        n = document(row).count("Summary ") if task == "book_sum_sort" else 0
        assert example == built(TASKS[task], document(row), query, n)


def test_answers_are_in_the_documents() -> None:
    rows = [row for row in LONG() if row.task_id in ("musique", "qasper", "narrative_qa")]
    outside = Counter(
        row.references[0] for row in rows if row.references[0].lower() not in document(row).lower()
    )
    assert outside.keys() <= {"Unanswerable", "unanswerable", "No"}
    assert outside["Unanswerable"] == outside["unanswerable"] == 1


def test_no_document_is_of_the_published_sets(real_data: Path) -> None:
    """No run of eight words of a document is in the real files at hand."""
    ours = {run for row in LONG() for run in runs(document(row))}
    known = 0
    for path in sorted((real_data / "long-documents").glob("*/*.json*")):
        for value in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            text = " ".join(texts(value))
            known += len(text)
            assert ours.isdisjoint(runs(text))
    assert known > 1_000_000


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inside for text in texts(one)]


def runs(text: str, length: int = 8) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    return zip(*(words[start:] for start in range(length)), strict=False)
