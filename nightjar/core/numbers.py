"""How a number of a result, a count or a time is written, in the report, on the terminal and in the README."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal


def number(value: float, decimals: int, signed: bool = False) -> str:
    """The value with so many decimals, rounded once and half up by its decimal digits: 26.15 is 26.2, -2.45 is -2.5.

    Zero has no minus sign; `signed` numbers have a plus sign where they are not negative.
    """
    if not math.isfinite(value):
        return str(value)
    rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP) + 0
    return f"{rounded:+f}" if signed else f"{rounded:f}"


def p(value: float) -> str:
    """A p-value with four decimals."""
    return number(value, 4) if value >= 0.0001 else "< 0.0001"


def counted_as(count: int, thing: str) -> str:
    """A count with its noun: "1 stage", "1,234 stages"."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def duration(seconds: float) -> str:
    """Seconds in the largest unit of which there are two or more, such as `95 s`, `12 min` and `3.5 h`."""
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7170 else f"{seconds / 3600:.1f} h"
