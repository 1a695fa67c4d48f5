"""Natural Questions in its open form: JSON Lines without ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.benchmarks.question import Record
from nightjar.benchmarks.tool_use.formats import load_natural_questions as load
from nightjar.core.errors import NightjarError
from tests.nightjar.benchmarks.tool_use.files import kept, put_lines, reasons

ROW = {"question": "who won the cup", "answer": ["Ann", "Ann", " Bob"]}

FILE = "nq-open/NQ-open.dev.jsonl"


def test_an_id_is_the_number_of_the_line(tmp_path: Path) -> None:
    put_lines(tmp_path, FILE, ROW, "", ROW | {"answer": []}, "null", ROW)
    rows = list(load(tmp_path))
    assert kept(rows) == [
        Record(
            "natural_questions",
            id,
            FILE,
            {"question": "who won the cup"},
            ("Ann", "Bob"),
        )
        for id in "15"
    ]
    assert reasons(rows) == ["answer is not a list of at least one answer", "not an object"]


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no such file"):
        list(load(tmp_path))


def test_the_published_file(real_data: Path) -> None:
    rows = list(load(real_data / "tool-benchmarks"))
    assert len(kept(rows)) == len(rows) == 3610
    assert kept(rows)[0].references == ("14 December 1972 UTC", "December 1972")
