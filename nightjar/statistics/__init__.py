"""Intervals, paired tests, multiple comparisons, verdicts and agreement, for any statistic of a set of instances.

A `Statistic` is a function from (draws, n, parts) to (draws,): `mean`, `matthews`, `geometric_mean`, `perplexity`, or
one's own. `Bootstrap` gives intervals of it, `permutation_p` the paired test of two systems, `Contrast` both of a
metric, and `significant` is the one rule for differences. NaN and infinity are refused with NightjarError.
"""

from nightjar.statistics.bootstrap import Bootstrap, binomial_interval, percent
from nightjar.statistics.metric import Metric, estimate
from nightjar.statistics.paired import Contrast, changes, p_value, permutation_p
from nightjar.statistics.resample import resampled
from nightjar.statistics.statistic import (
    MINIMUM,
    Statistic,
    enough,
    geometric_mean,
    matthews,
    mean,
    perplexity,
    significant,
    too_few,
)
from nightjar.statistics.verdict import holm

__all__ = [
    "MINIMUM",
    "Bootstrap",
    "Contrast",
    "Metric",
    "Statistic",
    "binomial_interval",
    "changes",
    "enough",
    "estimate",
    "geometric_mean",
    "holm",
    "matthews",
    "mean",
    "p_value",
    "percent",
    "permutation_p",
    "perplexity",
    "resampled",
    "significant",
    "too_few",
]
