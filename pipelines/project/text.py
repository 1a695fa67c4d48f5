"""Tables in Markdown, as text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The lines of a table of rows that have the same keys; none without rows."""
    if not rows:
        return []
    return [_line(rows[0]), f"|{'---|' * len(rows[0])}", *(_line(row.values()) for row in rows)]


def _line(cells: Collection[str]) -> str:
    return f"| {' | '.join(map(plain, cells))} |"


def plain(text: str) -> str:
    """A text on one line, in which a | ends no cell."""
    return " ".join(text.split()).replace("|", "\\|")
