"""Round values for the axes of drawings: 1, 2 or 5 times a power of ten apart."""

from __future__ import annotations

import math

# Steps of an axis, at most.
MOST = 6


def ticks(low: float, high: float, most: int = MOST, whole: bool = False) -> list[float]:
    """The round values from `low` to `high`; with `whole` no fractions. `low` alone where there is no range."""
    if high <= low:
        return [low]
    step = _step((high - low) / most, whole)
    # A hair of tolerance: 0.6 / 0.2 is not quite 3.
    return _multiples(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9), step)


def around(low: float, high: float, most: int = MOST) -> list[float]:
    """Round values of which the first is not above `low` and the last not below `high`; two at least."""
    if high <= low:
        high = low + 1
    step = _step((high - low) / most, False)
    return _multiples(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9), step)


def label(value: float) -> str:
    """`20,000`, `0.25`, `−5`."""
    return f"{value + 0.0:,.10g}".replace("-", "−")


def _step(least: float, whole: bool) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= least * (1 - 1e-9))
    return max(step, 1.0) if whole else step


def _multiples(first: int, last: int, step: float) -> list[float]:
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]
