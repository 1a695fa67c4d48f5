"""Intervals and tables in Markdown, as text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nightjar.core import display


def interval(row: Mapping[str, Any], decimals: int = 1, signed: bool = False) -> str:
    """`[52.5, 65.0]` of a row with n, `low` and `high`; where it has none, `n<20`."""
    if row["low"] is None:
        return _too_few(row)
    low, high = (display.number(row[bound], decimals, signed) for bound in ("low", "high"))
    return f"[{low}, {high}]"


def _too_few(row: Mapping[str, Any]) -> str:
    # Here, not above: NumPy takes long to load.
    from nightjar.statistics import too_few

    return too_few(row["n"])


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
