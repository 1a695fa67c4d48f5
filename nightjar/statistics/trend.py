"""Slow declines: a metric that falls over several runs in steps that are each too small to be told from chance.

A line of least squares is fitted to a metric over the runs, which are equally far apart. Its fall from the first run to
the last is a contrast of the runs, and is judged like the difference between two runs: by the permutation test
(`paired`), which reverses the runs of an instance, and Holm's correction over all cells. Equal runs have a slope of
exactly 0. A change that stays counts by the number of its instances, not by that of the runs. The null is that the runs
of an instance could have come in the reverse order; noise that all instances of a run share is not covered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nightjar.statistics.contrast import Contrast, Measured
from nightjar.statistics.statistic import Floats
from nightjar.statistics.verdict import Cell, decide

# The fewest runs with a slope, and the most: two weeks of nights.
FEWEST, MOST = 6, 14


def line(measure: Measured, runs: Sequence[Floats]) -> Contrast:
    """The end of the fitted line minus its start; `runs` have the parts of the same instances, oldest first."""
    places = np.arange(len(runs)) - (len(runs) - 1) / 2
    weights = places * (len(runs) - 1) / (places**2).sum()
    return Contrast(measure, runs, weights.tolist())


def declines(
    series: Mapping[Cell, tuple[Measured, Sequence[Floats]]], alpha: float
) -> dict[Cell, dict[str, Any]]:
    """The cells that have declined, with their rows of `verdict.decide`; cells of fewer than FEWEST runs are left out.

    The last run has to lie below the mean of all as well: a decline that was repaired is none.
    """
    lines = {cell: line(*one) for cell, one in series.items() if len(one[1]) >= FEWEST}
    rows = decide(list(lines.values()), alpha)
    return {
        cell: row
        for (cell, one), row in zip(lines.items(), rows, strict=True)
        if row["verdict"] == "worse" and _below(one)
    }


def _below(one: Contrast) -> bool:
    """Whether the last run is worse than the mean of the runs."""
    values = one.measure.statistic(np.stack(one.runs))
    gain = values[-1] - values.mean()
    return bool(gain < 0 if one.measure.higher_is_better else gain > 0)
