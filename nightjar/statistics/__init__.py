"""Intervals, paired tests, multiple comparisons, verdicts and agreement, for any statistic of a set of instances.

A statistic is a callable from (draws, n, parts) to (draws,): `mean`, `matthews`, `geometric_mean`, `perplexity`, or
one's own. `Bootstrap` gives intervals of it, `permutation_p` the paired test of two systems, `Contrast` both of a
metric, and `seen` the one rule by which a difference is significant. NaN and infinity are refused with NightjarError.
"""

from nightjar.statistics.agreement import nominal_alpha, raw_agreement
from nightjar.statistics.bootstrap import Bootstrap, binomial_interval, percent, percentage
from nightjar.statistics.contrast import Contrast, estimate
from nightjar.statistics.paired import Moved, contrast_p, moved, p_value, permutation_p
from nightjar.statistics.resample import resampled
from nightjar.statistics.rule import MINIMUM, enough, seen, too_few
from nightjar.statistics.statistic import OfSums, Statistic, geometric_mean, matthews, mean, perplexity
from nightjar.statistics.verdict import holm

__all__ = [
    "MINIMUM",
    "Bootstrap",
    "Contrast",
    "Moved",
    "OfSums",
    "Statistic",
    "binomial_interval",
    "contrast_p",
    "enough",
    "estimate",
    "geometric_mean",
    "holm",
    "matthews",
    "mean",
    "moved",
    "nominal_alpha",
    "p_value",
    "percent",
    "percentage",
    "permutation_p",
    "perplexity",
    "raw_agreement",
    "resampled",
    "seen",
    "too_few",
]
