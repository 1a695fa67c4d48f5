"""The one comparison: a contrast of a metric over runs with its interval, its p, and how many instances changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from nightjar.statistics import paired
from nightjar.statistics.bootstrap import Bootstrap
from nightjar.statistics.rule import enough
from nightjar.statistics.statistic import Floats, Statistic, contrast, mean


class Measured(Protocol):
    """A metric: its value is `statistic` of the `parts` of the instances, times `scale`, with so many `decimals`."""

    @property
    def name(self) -> str: ...
    @property
    def parts(self) -> tuple[str, ...]: ...
    @property
    def statistic(self) -> Statistic: ...
    @property
    def scale(self) -> float: ...
    @property
    def higher_is_better(self) -> bool: ...
    @property
    def decimals(self) -> int: ...


def estimate(measure: Measured, values: Floats) -> float:
    """The number of instances, `values` of shape (n, parts), in the unit of the metric; a mean is summed in order, as
    published.
    """
    if measure.statistic is mean:
        # From 0.0 on, as `sum` does: a sum of -0.0 alone is 0.0.
        return round(
            measure.scale * (0.0 + float(np.cumsum(values[:, 0])[-1])) / len(values), measure.decimals
        )
    return scaled(measure, float(measure.statistic(values[None])[0]))


def scaled(measure: Measured, number: float) -> float:
    """A value of the metric's statistic in the unit and with the decimals of the metric."""
    return round(measure.scale * number, measure.decimals) + 0.0  # never -0.0


class Contrast(NamedTuple):
    """A weighted sum of a metric over runs: the parts of the same instances, shape (n, parts), and a weight for each
    run. The weights add up to 0, so runs with equal scores have a contrast of exactly 0.
    """

    measure: Measured
    runs: Sequence[Floats]
    weights: Sequence[float]

    @classmethod
    def between(cls, measure: Measured, now: Floats, before: Floats) -> Contrast:
        """The difference now - before."""
        return cls(measure, (now, before), (1.0, -1.0))

    def described(self, bootstrap: Bootstrap) -> dict[str, Any]:
        """{"value", "low", "high", "p", "better", "worse", "equal"}: the first three in the unit of the metric.

        `low`, `high` and `p` are None below MINIMUM instances (`rule`), the ends also where the statistic is not
        defined on every resample; how many instances are better, worse and equal is None for a metric of several parts.
        Raises NightjarError for NaN and infinity.
        """
        measure, n = self.measure, len(self.runs[0])
        p, ends = None, (math.nan, math.nan)
        if enough(n):
            p = paired.contrast_p(measure.statistic, self.runs, self.weights, bootstrap.stream())
            ends = bootstrap.interval_of_contrast(self.runs, self.weights, measure.statistic)
        low, high = (scaled(measure, end) if math.isfinite(sum(ends)) else None for end in ends)
        counts: dict[str, int | None] = dict.fromkeys(("better", "worse", "equal"))
        if len(measure.parts) == 1:
            higher = contrast(self.weights, self.runs)[:, 0]
            counts = dict(vars(paired.moved(higher if measure.higher_is_better else -higher)))
        return {
            "value": scaled(measure, self._value()),
            "low": low,
            "high": high,
            "p": p,
            **counts,
        }

    def _value(self) -> float:
        if self.measure.statistic is mean:
            return float(contrast(self.weights, self.runs).mean())
        return float(contrast(self.weights, [self.measure.statistic(run[None]) for run in self.runs])[0])
