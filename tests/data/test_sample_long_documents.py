"""The sample's long documents: every task, their forms and that each reference follows from the document."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record
from nightjar.benchmarks.zeroscrolls.formats import load
from nightjar.benchmarks.zeroscrolls.prompts import built, of_parts
from nightjar.benchmarks.zeroscrolls.tasks import TASKS

FOLDER = Path(__file__).parents[2] / "data" / "sample" / "zeroscrolls"
COUNTS = dict(zip(TASKS, (2, 2, 3, 3, 4, 3, 3, 3, 2, 4), strict=True))
UNANSWERABLE = {"qasper": "Unanswerable", "musique": "unanswerable"}


@cache
def records() -> list[Record]:
    rows = list(load(FOLDER))
    assert all(isinstance(row, Record) for row in rows), "no row of the sample is refused"
    return [row for row in rows if isinstance(row, Record)]


def of(task: str) -> list[Record]:
    return [row for row in records() if row.task_id == task]


def document(row: Record) -> str:
    return of_parts(row.parts).document(TASKS[row.task_id].document)


def table(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_task_is_there_with_short_documents_and_references() -> None:
    assert Counter(row.task_id for row in records()) == COUNTS
    assert len({(row.task_id, row.id) for row in records()}) == len(records())
    for row in records():
        assert 120 <= len(document(row).split()) <= 400, row.id
        assert row.references and all(row.references)
    assert len({document(row) for row in records()}) == 18


@pytest.mark.parametrize("task", TASKS)
def test_prompts_have_the_published_layout(task: str) -> None:
    """Rows of the benchmark's own files, which are read as they are, equal what is built of their texts."""
    for row in of(task):
        example = of_parts(row.parts)
        query = example.query.removeprefix(TASKS[task].query).strip()
        n = document(row).count("Summary ") if task == "book_sum_sort" else 0
        assert example == built(TASKS[task], document(row), query, n)


def test_forms_of_the_files() -> None:
    own = {
        file.parent.name
        for file in FOLDER.glob("*/*.jsonl")
        if "document_start_index" in json.loads(file.read_text(encoding="utf-8").splitlines()[0])
    }
    assert own == {"gov_report", "narrative_qa", "quality"}
    assert all(row.remarks == ("several rows of an id",) for row in of("narrative_qa"))
    # Cells with quotes and line ends.
    reviews = [row["review"] for row in table("space_digest/reviews.csv")]
    assert any('"' in text for text in reviews) and any("\n" in text for text in reviews)


def test_answers_are_in_the_documents() -> None:
    for task in ("musique", "qasper", "narrative_qa"):
        for row in of(task):
            assert row.references[0].lower() in document(row).lower() or row.references[0] in (
                UNANSWERABLE.get(task),
                "No",
            ), row.id
    assert [row.id for row in of("musique") if row.references == ("unanswerable",)] == [
        "2hop__1_6-unanswerable"
    ]
    assert sum(row.references == ("Unanswerable",) for row in of("qasper")) == 1


def test_percentages_are_those_of_the_ratings() -> None:
    positive = {row["review"] for row in table("space_digest/reviews.csv") if int(row["rating"]) > 3}
    negative = {row["review"] for row in table("space_digest/reviews.csv") if int(row["rating"]) < 3}
    assert not positive & negative
    for row in of("space_digest"):
        found = [text.strip() for text in re.split(r"\n*Review \d+:\n", "\n" + document(row))[1:]]
        assert len(found) == 50 and set(found) <= positive | negative
        assert row.references == (f"{2 * sum(text in positive for text in found)}%",)


def test_nothing_is_of_the_published_sets(real_data: Path) -> None:
    """No run of eight words of a document is in the real files at hand."""
    ours = {run for row in records() for run in runs(document(row))}
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
