"""Percentile bootstrap intervals over instances, and means in percent.

Every interval has its own random stream, derived from the seed and the name of its cell. A result depends on neither
the order of work nor the other cells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nightjar.statistics.resample import resampled, sums
from nightjar.statistics.rule import enough
from nightjar.statistics.statistic import Floats, Statistic, mean

DECIMALS = 4


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are made: `samples` resamples, percentiles that enclose `confidence` of them."""

    seed: int
    samples: int
    confidence: float

    def interval(self, values: Floats, *of: str, statistic: Statistic = mean) -> tuple[float, float]:
        """Low and high end for the statistic of `values`; `of` names the cell.

        `values` are the parts of the instances, shape (n, parts) or, of one part, (n,). The instances are resampled
        with replacement. Raises ValueError for no instance. Below MINIMUM instances, see `percent_interval`.
        """
        return self.ends(resampled(statistic, [values], self.samples, self.stream(*of))[0])

    def interval_of_difference(
        self, a: Floats, b: Floats, *of: str, statistic: Statistic = mean
    ) -> tuple[float, float]:
        """Low and high end for statistic(a) - statistic(b) of two systems; `of` names the cell.

        `a` and `b` have the parts of the same instances in the same order. An instance is drawn for both systems at
        once, so what makes it hard for both cancels out. Raises ValueError for no instance or unequal shapes.
        """
        first, second = resampled(statistic, [a, b], self.samples, self.stream(*of))
        return self.ends(first - second)

    def percent_interval(
        self, values: Floats, *of: str, statistic: Statistic = mean
    ) -> tuple[float, float] | tuple[None, None]:
        """`interval` in percent, rounded to 4 decimals; (None, None) below MINIMUM instances."""
        if not enough(len(values)):
            return None, None
        low, high = self.interval(values, *of, statistic=statistic)
        return percentage(low), percentage(high)

    def percent_intervals(
        self, columns: Floats, *of: str
    ) -> list[tuple[float, float]] | list[tuple[None, None]]:
        """The interval of the mean of each column of (n, metrics), as `percent_interval` gives them.

        The metrics of the same instances share their resamples, which takes less time than one by one.
        """
        n, metrics = columns.shape
        if not enough(n):
            return [(None, None)] * metrics
        means = sums(columns, self.samples, self.stream(*of)) / n
        ends = [self.ends(column) for column in means.T]
        return [(percentage(low), percentage(high)) for low, high in ends]

    def stream(self, *of: str) -> np.random.Generator:
        """The random numbers of the cell that `of` names."""
        name = "\x1f".join([str(self.seed), *of])
        return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big"))

    def ends(self, values: Floats) -> tuple[float, float]:
        """The percentiles that enclose `confidence` of the values of resamples."""
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(low), float(high)


def percent(values: Sequence[float] | Floats) -> float:
    """100 x mean, rounded to 4 decimals; summed one after another, as the published evaluator does."""
    # From 0.0 on, as `sum` does: a sum of -0.0 alone is 0.0.
    return round(100.0 * (0.0 + float(np.cumsum(values)[-1])) / len(values), DECIMALS)


def percentage(fraction: float) -> float:
    """In percent, rounded to 4 decimals."""
    return round(100.0 * fraction, DECIMALS)
