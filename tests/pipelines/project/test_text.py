"""Tables in Markdown, as text."""

from __future__ import annotations

from pipelines.project.text import table


def test_a_table_has_one_line_a_row_and_no_cell_ends_early() -> None:
    rows = [{"name": "a|b", "n": "1"}, {"name": "two\nlines", "n": "20"}]
    assert table(rows) == ["| name | n |", "|---|---|", "| a\\|b | 1 |", "| two lines | 20 |"]
    assert table([]) == []
