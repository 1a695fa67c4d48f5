"""How an interval, a p, a track and a table in Markdown are written."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nightjar.core import display
from nightjar.core.errors import NightjarError


def interval(row: Mapping[str, Any], decimals: int = 1, signed: bool = False) -> str:
    """`[52.5, 65.0]` of a row with n, `low` and `high`; where it has none, `n<20`."""
    if row["low"] is None:
        return _too_few(row)
    low, high = (display.number(row[end], decimals, signed) for end in ("low", "high"))
    return f"[{low}, {high}]"


def chance(row: Mapping[str, Any]) -> str:
    """`0.0312`, the p of a row; where it has none, `n<20`."""
    return _too_few(row) if row["p"] is None else display.p(row["p"])


def _too_few(row: Mapping[str, Any]) -> str:
    # Here, not above: NumPy takes long to load.
    from nightjar.statistics import too_few

    return too_few(row["n"])


def decimals(row: Mapping[str, Any]) -> int:
    """How many decimals a row's metric is shown with by the card of its benchmark; 1 where there is no card."""
    from nightjar.benchmarks import registry

    with contextlib.suppress(NightjarError):  # of a package that is not installed any more, or broken
        return registry.load_benchmark(row["benchmark"]).metric(row["metric"]).shown_decimals
    return 1


def track_title(row: Mapping[str, Any]) -> str:
    """The title of a row's track by the card of its benchmark; its name where there is no card."""
    # Here, not above: NumPy takes long to load.
    from nightjar.benchmarks import registry

    with contextlib.suppress(NightjarError):  # of a package that is not installed any more, or broken
        return registry.load_benchmark(row["benchmark"]).track_title(row["track"])
    return str(row["track"])


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
