"""How a score's interval is printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def interval(row: Mapping[str, Any], form: str = ".1f") -> str:
    """`[52.5, 65.0]` of a row with `low` and `high`, each by the format specification `form`; where it has none, that
    its `n` is too small for an interval: `(n = 8, too few)`.
    """
    if row["low"] is None:
        # Here, not above: NumPy takes long to load.
        from nightjar.statistics import too_few

        return f"({too_few(row['n'])})"
    return f"[{row['low']:{form}}, {row['high']:{form}}]"
