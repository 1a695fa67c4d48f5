"""Intervals, paired tests, multiple comparisons, verdicts and agreement, for any statistic of a set of instances.

A `Statistic` is a function from (draws, n, parts) to (draws,): `mean`, `matthews`, `geometric_mean`, `perplexity`, or
one's own. `Bootstrap` gives intervals of it, `permutation_p` the paired test of two systems, `Contrast` both of a
metric, and `significant` is the one rule for differences. NaN and infinity are refused with NightjarError.
"""

from nightjar.statistics.agreement import nominal_alpha, raw_agreement
from nightjar.statistics.bootstrap import Bootstrap, binomial_interval, percent, percentage
from nightjar.statistics.metric import Metric, estimate
from nightjar.statistics.paired import Changes, Contrast, changes, contrast_p, p_value, permutation_p
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
    "Changes",
    "Contrast",
    "Metric",
    "Statistic",
    "binomial_interval",
    "changes",
    "contrast_p",
    "enough",
    "estimate",
    "geometric_mean",
    "holm",
    "matthews",
    "mean",
    "nominal_alpha",
    "p_value",
    "percent",
    "percentage",
    "permutation_p",
    "perplexity",
    "raw_agreement",
    "resampled",
    "significant",
    "too_few",
]
