"""Texts of a metric's numbers: in its unit, with as many decimals as its range needs."""

from __future__ import annotations

import math

from nightjar.benchmarks.score_table import bracketed
from nightjar.core import display
from nightjar.statistics import too_few
from nightjar.statistics.metric import Metric


def heading(metric: Metric) -> str:
    """The title of the metric with its unit."""
    return f"{metric.title} (%)" if metric.scale == 100 else metric.title


def value(metric: Metric, number: float, more: int = 0) -> str:
    """A number of the metric, with `more` decimals than usual."""
    return display.number(number, metric.shown_decimals + more)


def interval(metric: Metric, low: float | None, high: float | None, n: int = 0) -> str:
    """`[low, high]`, or `n<20` where there is no interval over `n` instances."""
    return bracketed(low, high, n, metric.shown_decimals)


def signed(metric: Metric, number: float) -> str:
    """A difference with its sign; a minus sign for a hyphen."""
    return display.number(number, metric.shown_decimals, signed=True).replace("-", "−")


def signed_interval(metric: Metric, low: float | None, high: float | None, n: int = 0) -> str:
    """The interval of a difference with its signs, or `n<20`."""
    return bracketed(low, high, n, metric.shown_decimals, signed=True).replace("-", "−")


def p(number: float | None, n: int = 0) -> str:
    """A p-value with four decimals, or `n<20` where there is none over `n` instances."""
    return too_few(n) if number is None else display.p(number)


def count(number: int | None) -> str:
    """A number of things; a dash for None."""
    return "–" if number is None else f"{number:,}"


def counted(number: int, thing: str) -> str:
    """`2 values`, `1 value`, `no value`."""
    return f"{number:,} {thing}{'s' if number > 1 else ''}" if number else f"no {thing}"


def axis(metric: Metric, highest: float) -> tuple[float, float]:
    """The ends of an axis for values of the metric: its range, or up to `highest` where that has no end."""
    low, high = metric.range
    low = low if math.isfinite(low) else 0.0
    return low, high if math.isfinite(high) else max(highest, low + 1.0)
