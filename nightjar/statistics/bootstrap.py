"""Intervals over instances, and means in percent.

A proportion, that is a mean whose values are all 0 or 1, has Clopper and Pearson's exact interval; any other statistic
and every difference has the percentiles of a bootstrap. There is one seed, one number of resamples and one confidence
for all commands, and every interval has the same random stream: the same numbers have the same interval everywhere, in
whatever order they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nightjar.statistics.resample import as_rows, resampled
from nightjar.statistics.statistic import Floats, Statistic, contrast, enough, mean

DECIMALS = 4
SEED, SAMPLES, CONFIDENCE = 42, 1000, 0.95


@dataclass(frozen=True)
class Bootstrap:
    """Intervals from `samples` resamples: the percentiles that enclose `confidence` of them."""

    seed: int = SEED
    samples: int = SAMPLES
    confidence: float = CONFIDENCE

    def interval(self, values: Floats, statistic: Statistic = mean) -> tuple[float, float]:
        """Low and high end for the statistic of `values`, the parts of instances: (n, parts) or, of one part, (n,)."""
        rows = as_rows(values)
        if statistic is mean and rows.shape[1] == 1 and ((rows == 0) | (rows == 1)).all():
            return binomial_interval(int(rows.sum()), len(rows), self.confidence)
        return self.ends(resampled(statistic, [rows], self.samples, self.stream())[0])

    def interval_of_difference(
        self, a: Floats, b: Floats, statistic: Statistic = mean
    ) -> tuple[float, float]:
        """Low and high end for statistic(a) - statistic(b) of two systems; see `interval_of_contrast`."""
        return self.interval_of_contrast((a, b), (1.0, -1.0), statistic)

    def interval_of_contrast(
        self, runs: Sequence[Floats], weights: Sequence[float], statistic: Statistic = mean
    ) -> tuple[float, float]:
        """Low and high end for the sum of weight x statistic over the runs; the interval of -contrast is its mirror.

        The runs have the parts of the same instances in the same order. An instance is drawn for all runs at once, so
        what makes it hard for all cancels out. The weights add up to 0, and are -weights in reverse. Raises
        NightjarError for no instance, unequal shapes, NaN and infinity. The ends are NaN where the statistic of a
        resample is.
        """
        rows = [as_rows(run) for run in runs]
        value = contrast(weights, [statistic(run[None]) for run in rows])[0]
        rows = rows[::-1] if value < 0 else rows
        if statistic is mean:
            drawn = resampled(mean, [contrast(weights, rows)], self.samples, self.stream())[0]
        else:
            drawn = contrast(weights, list(resampled(statistic, rows, self.samples, self.stream())))
        low, high = self.ends(drawn)
        return (0.0 - high, 0.0 - low) if value < 0 else (low, high)

    def percent_interval(self, values: Floats) -> tuple[float, float] | tuple[None, None]:
        """`interval` of a mean in percent, rounded to 4 decimals; (None, None) below MINIMUM instances."""
        if not enough(len(values)):
            return None, None
        low, high = self.interval(values)
        return percentage(low), percentage(high)

    def stream(self) -> np.random.Generator:
        """The random numbers of an interval or a test."""
        return np.random.default_rng(self.seed)

    def ends(self, values: Floats) -> tuple[float, float]:
        """The percentiles that enclose `confidence` of the values of resamples."""
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        return float(low), float(high)


def binomial_interval(hits: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Clopper and Pearson's exact interval for a share of `hits` among `trials`."""
    from scipy.special import betaincinv  # here: it takes long to load

    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, trials - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1 - tail)) if hits < trials else 1.0
    return low, high


def percent(values: Sequence[float] | Floats) -> float:
    """100 x mean, rounded to 4 decimals; summed one after another, as the published evaluator does."""
    # From 0.0 on, as `sum` does: a sum of -0.0 alone is 0.0.
    return round(100.0 * (0.0 + float(np.cumsum(values)[-1])) / len(values), DECIMALS)


def percentage(fraction: float) -> float:
    """In percent, rounded to 4 decimals."""
    return round(100.0 * fraction, DECIMALS)
