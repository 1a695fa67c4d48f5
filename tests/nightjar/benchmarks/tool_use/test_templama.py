"""TempLAMA: statements of a year."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.question import Record
from nightjar.benchmarks.tool_use.formats import load_templama as load
from tests.nightjar.benchmarks.tool_use.files import kept, put_lines, reasons

FILE = "templama/test.jsonl"
ROW = {
    "query": "Ann Lee plays for _X_.",
    "answer": [{"wikidata_id": "Q1", "name": "Real Town"}, {"wikidata_id": "Q2", "name": "Town"}],
    "date": "2012",
    "id": "Q7_P54_2012",
    "most_frequent_answer": {"wikidata_id": "Q1", "name": "Real Town"},
    "relation": "P54",
}


def test_the_fields(tmp_path: Path) -> None:
    put_lines(tmp_path, FILE, ROW)
    day = date(2012, 7, 1)
    assert list(load(tmp_path)) == [
        Record("templama", "Q7_P54_2012", FILE, {"text": "Ann Lee plays for"}, ("Real Town", "Town"), day=day)
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"query": "_X_ is the mayor of Town."}, "_X_ is not the final token"),
        ({"query": None}, "no query"),
        ({"answer": []}, "answer is not a list of at least one object"),
        ({"answer": [{"name": " "}]}, "name is blank"),
        ({"date": 2012}, "date is not a string"),
        ({"date": "12"}, "date is not a year of four digits"),
        ({"date": "0000"}, "date is not a year of four digits"),
        ({"date": "٢٠١٢"}, "date is not a year of four digits"),
        ({"id": None}, "no id"),
    ],
)
def test_refused_rows(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    put_lines(tmp_path, FILE, ROW | {"id": "good"}, ROW | change)
    rows = list(load(tmp_path))
    assert [it.id for it in kept(rows)] == ["good"]
    assert reasons(rows) == [reason]
