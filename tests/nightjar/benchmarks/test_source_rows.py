"""Rows of tables: no row is swallowed by a quote, no column by another of its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.benchmarks.source_rows import rows
from nightjar.core.errors import NightjarError


def test_quotes_of_a_file_with_tabs_are_text(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    texts = ['"open', 'closed"', '"both"', 'in "the" middle', '""', "it's"]
    file.write_text("Text\tn\n" + "".join(f"{text}\t{number}\n" for number, text in enumerate(texts)))
    assert [row.value for row in rows(file)] == [
        {"text": text, "n": str(number)} for number, text in enumerate(texts)
    ]
    assert not any(row.fault for row in rows(file))


def test_a_table_with_commas_has_quoted_cells(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('text,n\n"a, ""b""\nc",1\n5" disk,2\n"",3\n')
    assert [row.value["text"] for row in rows(file)] == ['a, "b"\nc', '5" disk', ""]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('a,b\n1,2\n"open,3\n4,5\n6,7\n', 3),
        ('a,b\n"x\ny",2\n1,"open\n4,5', 4),
        ('a,b\n"open,3\n4,5\n"closed by this,6\n', 2),
        ('"a,b\n1,2\n', 1),
    ],
)
def test_a_quote_that_is_not_closed_is_a_fault_with_its_line(tmp_path: Path, content: str, line: int) -> None:
    file = tmp_path / "a.csv"
    file.write_text(content)
    with pytest.raises(NightjarError, match=rf"a.csv:{line}: a quote is not closed"):
        list(rows(file))


@pytest.mark.parametrize(("name", "head"), [("a.csv", "a,b,a"), ("a.csv", "a,A "), ("a.tsv", "x\tb\tX")])
def test_a_column_that_occurs_twice_is_a_fault(tmp_path: Path, name: str, head: str) -> None:
    file = tmp_path / name
    file.write_text(f"{head}\n")
    with pytest.raises(NightjarError, match=rf"{name}:1: the column '[ax]' occurs twice"):
        list(rows(file))
