"""Tables in Markdown, and intervals, as text."""

from __future__ import annotations

from pipelines.project.text import interval, table


def test_a_table_has_one_line_a_row_and_no_cell_ends_early() -> None:
    rows = [{"name": "a|b", "n": "1"}, {"name": "two\nlines", "n": "20"}]
    assert table(rows) == ["| name | n |", "|---|---|", "| a\\|b | 1 |", "| two lines | 20 |"]
    assert table([]) == []


def test_an_interval_is_shown_only_where_there_is_one() -> None:
    assert interval({"low": -1.0, "high": 2.25, "n": 20}, 2, signed=True) == "[-1.00, +2.25]"
    assert interval({"low": None, "high": None, "n": 8}) == "n<20"
