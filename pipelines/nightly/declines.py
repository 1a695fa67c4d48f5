"""Slow declines of a score over several nights.

A slow decline is a metric that falls over several runs in steps that are each too small to be significant. A line of
least squares is fitted to the metric over the runs, which are equally far apart. Its fall from the first run to the
last is a contrast of the runs, and is judged like the difference between two runs: by the permutation test, which
reverses the runs of an instance, and Holm's correction over all cells. Equal runs have a slope of exactly 0. A change
that stays counts by the number of its instances, not by that of the runs. The null is that the runs of an instance
could have come in the reverse order; noise that all instances of a run share is not covered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nightjar.statistics.metric import Metric
from nightjar.statistics.paired import Contrast
from nightjar.statistics.statistic import Floats
from nightjar.statistics.verdict import Cell, decide

# The fewest runs with a slope, and the most: two weeks of nights.
FEWEST, MOST = 6, 14


def line(measure: Metric, runs: Sequence[Floats]) -> Contrast:
    """The end of the fitted line minus its start; `runs` have the parts of the same instances, oldest first."""
    places = np.arange(len(runs)) - (len(runs) - 1) / 2
    weights = places * (len(runs) - 1) / (places**2).sum()
    return Contrast(measure, runs, weights.tolist())


def declined(
    series: Mapping[Cell, tuple[Metric, Sequence[Floats]]], alpha: float
) -> dict[Cell, dict[str, Any]]:
    """The cells that have declined, with their rows of `decide`; cells of fewer than FEWEST runs are left out.

    The last run has to lie below the mean of all as well: a decline that was repaired is none.
    """
    lines = {cell: line(*cell_runs) for cell, cell_runs in series.items() if len(cell_runs[1]) >= FEWEST}
    rows = decide(list(lines.values()), alpha)
    return {
        cell: row
        for (cell, runs), row in zip(lines.items(), rows, strict=True)
        if row["verdict"] == "worse" and _below(runs)
    }


def _below(runs: Contrast) -> bool:
    """Return true if the last run is worse than the mean of the runs."""
    values = runs.measure.statistic(np.stack(runs.runs))
    gain = values[-1] - values.mean()
    return bool(gain < 0 if runs.measure.higher_is_better else gain > 0)
