"""The sample's long documents: every task, their forms and that each reference follows from the document."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record
from nightjar.benchmarks.zeroscrolls.formats import load
from nightjar.benchmarks.zeroscrolls.prompts import built, of_parts
from nightjar.benchmarks.zeroscrolls.tasks import TASKS
from tests.data.sample import records

COUNTS = dict(zip(TASKS, (2, 2, 3, 3, 4, 3, 3, 3, 2, 4), strict=True))
UNANSWERABLE = {"qasper": "Unanswerable", "musique": "unanswerable"}


def of(task: str) -> list[Record]:
    return [row for row in records(load, "zeroscrolls") if row.task_id == task]


def document(row: Record) -> str:
    return of_parts(row.parts).document(TASKS[row.task_id].document)


def test_every_task_is_there_with_short_documents_and_references() -> None:
    assert Counter(row.task_id for row in records(load, "zeroscrolls")) == COUNTS
    assert len({(row.task_id, row.id) for row in records(load, "zeroscrolls")}) == len(
        records(load, "zeroscrolls")
    )
    for row in records(load, "zeroscrolls"):
        assert 120 <= len(document(row).split()) <= 400, row.id
        assert row.references and all(row.references)
    assert len({document(row) for row in records(load, "zeroscrolls")}) == 18


@pytest.mark.parametrize("task", TASKS)
def test_prompts_have_the_published_layout(task: str) -> None:
    """Rows of the benchmark's own files, which are read as they are, equal what is built of their texts."""
    for row in of(task):
        example = of_parts(row.parts)
        query = example.query.removeprefix(TASKS[task].query).strip()
        n = document(row).count("Summary ") if task == "book_sum_sort" else 0
        assert example == built(TASKS[task], document(row), query, n)


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


def test_nothing_is_of_the_published_sets(real_data: Path) -> None:
    """No run of eight words of a document is in the real files at hand."""
    ours = {run for row in records(load, "zeroscrolls") for run in runs(document(row))}
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
