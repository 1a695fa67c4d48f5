"""How a number of a result is written, in the report, on the terminal and in the README."""

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
