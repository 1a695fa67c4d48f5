"""Metrics: the statistic and the unit of a reported number, and the number of one system on a set of instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from nightjar.core.config import Name
from nightjar.statistics.bootstrap import DECIMALS
from nightjar.statistics.statistic import Floats, Statistic, mean

# Ranges from this on are wide.
_WIDE = 10


@dataclass(frozen=True)
class Metric:
    """One number that a benchmark reports for a set of instances.

    `parts` are the numbers kept for each instance (one named like the metric, if none are given); `statistic` makes the
    reported number of them, times `scale`: 100 for percentages. `range` is that of the reported number, which has so
    many `decimals`. One that is not `judged` describes answers, such as their length: the nightly does not compare it.
    One that says what is `right` has one part, which is 1 for a right answer and less for another.
    """

    name: Name
    title: str = ""
    parts: tuple[str, ...] = ()
    statistic: Statistic = mean
    range: tuple[float, float] = (0.0, 100.0)
    scale: float = 100.0
    higher_is_better: bool = True
    judged: bool = True
    right: bool = False
    decimals: Annotated[int, Field(ge=0, le=15)] = DECIMALS

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", self.parts or (self.name,))

    @property
    def shown_decimals(self) -> int:
        """1 for metrics whose range is wide, such as percentages; 3 for others, such as those from 0 to 1."""
        low, high = self.range
        return 1 if high - low >= _WIDE else 3


def estimate(measure: Metric, values: Floats) -> float:
    """The number of one system on a set of instances, `values` of shape (n, parts), in the unit of the metric.

    The numbers of a mean are summed in order, as published.
    """
    if measure.statistic is mean:
        # From 0.0 on, as `sum` does: a sum of -0.0 alone is 0.0.
        return round(
            measure.scale * (0.0 + float(np.cumsum(values[:, 0])[-1])) / len(values), measure.decimals
        )
    return scaled(measure, float(measure.statistic(values[None])[0]))


def scaled(measure: Metric, number: float) -> float:
    """A value of the metric's statistic in the unit and with the decimals of the metric."""
    return round(measure.scale * number, measure.decimals) + 0.0  # never -0.0
