"""Statistics of a set of instances, and the rule by which a difference is significant.

A statistic takes the numbers kept for the instances (their parts) as an array of shape (draws, n, parts), and returns
one value for each draw, shape (draws,). It depends on the instances through sums alone. No array of draws x instances
is made to resample and permute it.

The rule holds for each number by itself. A number over fewer than MINIMUM instances has no interval and no p; `too_few`
is shown in their place. The mean of several tasks counts the instances of all of them, whatever a single task has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError

Floats = NDArray[np.float64]

# Below so many instances percentiles of resamples are too narrow to be shown as an interval: the resamples repeat the
# few values that were drawn.
MINIMUM = 20


def enough(n: int) -> bool:
    """Return true if `n` instances are enough for an interval and a p."""
    return n >= MINIMUM


def significant(p: float | None, n: int, confidence: float) -> bool:
    """Return true if a difference is significant: its two-sided `p` over `n` instances is at most 1 - confidence.

    `confidence` is that of the intervals shown beside it, such as 0.95. Fewer than MINIMUM instances never suffice.
    """
    # 1 - 0.95 is a little above 0.05, 1 - 0.99 a little below 0.01.
    return p is not None and enough(n) and p <= 1 - confidence + 1e-12


def too_few(n: int) -> str:
    """The sign in place of an interval or a p over `n` instances that is missing."""
    return "–" if enough(n) else f"n<{MINIMUM}"


@dataclass(frozen=True)
class Statistic:
    """A statistic that is a function of sums over the instances.

    `summed` turns the parts of instances, shape (draws, n, parts), into the numbers that are summed, the terms,
    (draws, n, terms). `value` turns their sums, shape (draws, terms), and n into the statistic, (draws,). `parts` is
    how many numbers an instance has, None for any number.
    """

    name: str
    parts: int | None
    summed: Callable[[Floats], Floats]
    value: Callable[[Floats, int], Floats]

    def terms(self, values: Floats) -> Floats:
        """Return the numbers to sum: (draws, n, parts) to (draws, n, terms)."""
        if values.ndim != 3 or not values.shape[1] or values.shape[2] != (self.parts or values.shape[2]):
            what = f"an array of shape {values.shape}"
            raise NightjarError(what, self.name, f"give (draws, n, {self.parts or 'parts'})")
        return self.summed(values)

    def __call__(self, values: Floats) -> Floats:
        """The statistic of each draw: (draws, n, parts) to (draws,)."""
        return self.value(self.terms(values).sum(axis=1), values.shape[1])


def contrast(weights: Sequence[float], values: Sequence[Floats]) -> Floats:
    """The sum of weight x values over runs. The weights add up to 0: equal values have exactly 0."""
    later_runs = zip(weights[1:], values[1:], strict=True)
    return sum((weight * (value - values[0]) for weight, value in later_runs), np.zeros_like(values[0]))


def _same(values: Floats) -> Floats:
    return values


def _column_mean(sums: Floats, n: int) -> Floats:
    return sums[:, 0] / n


def _geometric(sums: Floats, n: int) -> Floats:
    means: Floats = np.prod(sums / n, axis=1) ** (1 / sums.shape[1])
    return means


def _token_losses(values: Floats) -> Floats:
    if not (values[..., 1] > 0).all():
        raise NightjarError("an instance without tokens", "perplexity", "leave it out")
    return values


def _exp_of_mean(sums: Floats, n: int) -> Floats:
    perplexities: Floats = np.exp(sums[:, 0] / sums[:, 1])
    return perplexities


def _hits_and_labels(values: Floats) -> Floats:
    """1 for a hit, then for each label 1 where it is predicted, then for each label 1 where it is the gold one."""
    labels = np.unique(values)
    hits = (values[..., :1] == values[..., 1:]).astype(np.float64)
    return np.concatenate([hits, values[..., :1] == labels, values[..., 1:] == labels], axis=-1)


def _correlation(sums: Floats, n: int) -> Floats:
    hits, labels = sums[:, 0], (sums.shape[1] - 1) // 2
    predicted, gold = sums[:, 1 : 1 + labels], sums[:, 1 + labels :]
    covariance = hits * n - (predicted * gold).sum(axis=1)
    # Counts: the products are exact in floats for up to 90 million instances.
    spread = (n**2 - (predicted**2).sum(axis=1)) * (n**2 - (gold**2).sum(axis=1))
    return np.divide(covariance, np.sqrt(spread), out=np.zeros(len(sums)), where=spread > 0)


mean = Statistic("mean", 1, _same, _column_mean)
"""The mean of one number for each instance, such as accuracy, ROUGE-L or F1."""

matthews = Statistic("Matthews correlation", 2, _hits_and_labels, _correlation)
"""Matthews correlation of the parts (predicted label, gold label), whole numbers.

From -1 to 1, and 0 where all predictions or all gold labels are the same label, as in GLUE. Of more than two labels it
is R_K (Gorodkin 2004). A label for "no valid answer" is a label like any other. Source: Guo et al. 2023, CoLA.
"""

geometric_mean = Statistic("geometric mean of means", None, _same, _geometric)
"""The geometric mean of the means of the parts, which are 0 or more, such as ROUGE-1, ROUGE-2 and ROUGE-L.

The means are over the corpus, as in the public metric of SCROLLS; it is 0 if one of them is.
"""

perplexity = Statistic("perplexity", 2, _token_losses, _exp_of_mean)
"""exp(total loss / total tokens) of the parts (loss of the instance in nats, its tokens). Source: Schick et al. 2023.

Raises NightjarError for an instance without tokens.
"""
