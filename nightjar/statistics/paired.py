"""The one comparison and its test: could the difference of two systems, or the trend over several runs, be chance?

If two systems were equal, the answers of an instance could be swapped between them; if several runs had no trend, those
of an instance could as well have come in the reverse order, which for two runs is the swap. p is the share of all ways
to reverse the runs of some instances whose contrast of the statistic is as far from zero as the observed one, on either
side. For a mean, a reversal flips the sign of the instance's contrast.

The test holds for any distribution of scores, zeros and ties included, and is exact: a true null gets a p of at most x
with at most that probability. An instance counts once, however many runs repeat its answer: a change of two answers is
the same evidence after one run and after ten. All ways are enumerated for few instances. Otherwise SAMPLES ways are
sampled and the observed one is counted, so that p is never 0; where no sampled way is as extreme, ten times as many are
sampled anew. p depends neither on the order of the instances nor on which of two systems comes first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nightjar.statistics.bootstrap import Bootstrap
from nightjar.statistics.metric import Metric, scaled
from nightjar.statistics.resample import as_rows
from nightjar.statistics.statistic import Floats, Statistic, contrast, enough, mean

SAMPLES = 10_000
# Up to so many instances whose runs differ, all ways are tried: 65,536.
_ENUMERATED = 16
# Contrasts that are equal may differ in their last bits.
_CLOSE = 1e-9


class Changes(NamedTuple):
    """Counts of the instances on which one system is better, worse and equally good as the other."""

    better: int
    worse: int
    equal: int


def changes(differences: NDArray[np.float64]) -> Changes:
    """Counts of the differences above, below and at zero; scores are equal to the last bit or differ."""
    better, worse = int((differences > 0).sum()), int((differences < 0).sum())
    return Changes(better, worse, len(differences) - better - worse)


def p_value(differences: NDArray[np.float64], rng: np.random.Generator, samples: int = SAMPLES) -> float:
    """Two-sided p of the mean of paired `differences` under flips of their signs: `contrast_p` against zeros."""
    return permutation_p(mean, differences, np.zeros(np.shape(differences)), rng, samples)


def permutation_p(
    statistic: Statistic, a: Floats, b: Floats, rng: np.random.Generator, samples: int = SAMPLES
) -> float:
    """Two-sided p of statistic(a) - statistic(b) if the systems' parts are swapped within instances: `contrast_p`."""
    return contrast_p(statistic, (a, b), (1.0, -1.0), rng, samples)


def contrast_p(
    statistic: Statistic,
    runs: Sequence[Floats],
    weights: Sequence[float],
    rng: np.random.Generator,
    samples: int = SAMPLES,
) -> float:
    """Two-sided p of the sum of weight x statistic over `runs`, whose parts are reversed within instances.

    The runs have the parts of the same instances in the same order, shape (n, parts) or (n,) each; the weights are
    -weights in reverse. It is exact if at most 16 instances change by a reversal, or if all contrasts of a mean have
    one size (as those of exact match: then it is the sign test, McNemar's exact form); 1 if none changes. A way on
    which the statistic is not defined counts as extreme. Memory beside the arguments: some arrays of the size of all
    runs, and of `samples` x runs x terms.
    """
    rows = [as_rows(run) for run in runs]
    stacked, scale = np.stack(rows), 1.0
    if statistic is mean:
        forward = contrast(weights, rows)
        backward, observed, scale = -forward, float(forward.sum()), float(np.abs(forward).sum())
    else:
        terms = statistic.terms(stacked)
        forward, backward = (np.concatenate(list(each), axis=1) for each in (terms, terms[::-1]))
        values = statistic(stacked)
        observed, scale = float(np.dot(weights, values)), max(1.0, float(np.abs(values).max()))
    differ = (forward != backward).any(axis=1)
    sizes = np.abs(forward[differ])
    if not len(sizes):
        return 1.0
    if statistic is mean and sizes.max() == sizes.min():
        return _sign_test(int((forward > 0).sum()), len(sizes))
    ways = (statistic, weights, *_canonical(forward[differ], backward[differ]), forward[~differ])
    limit = abs(observed) - _CLOSE * scale

    def extreme(contrasts: Floats) -> int:
        return int((~(np.abs(contrasts) < limit)).sum())

    if len(sizes) <= _ENUMERATED:
        every = _contrasts(*ways, None, 0)
        return extreme(every) / len(every)
    beyond = extreme(_contrasts(*ways, rng, samples))
    if not beyond:
        samples *= 10
        beyond = extreme(_contrasts(*ways, rng, samples))
    return (1 + beyond) / (1 + samples)


def _canonical(forward: Floats, backward: Floats) -> tuple[Floats, Floats]:
    """Both with the smaller row of every instance first, and the instances sorted: an order has no part in a draw."""
    place = (forward != backward).argmax(axis=1)[:, None]
    turned = np.take_along_axis(forward, place, axis=1) > np.take_along_axis(backward, place, axis=1)
    first, second = np.where(turned, backward, forward), np.where(turned, forward, backward)
    order = np.lexsort(np.concatenate([second, first], axis=1).T)
    return first[order], second[order]


def _contrasts(
    statistic: Statistic,
    weights: Sequence[float],
    first: Floats,
    second: Floats,
    fixed: Floats,
    rng: np.random.Generator | None,
    count: int,
) -> Floats:
    """The contrasts of `count` sampled ways to choose the first or the second row of each instance.

    Without a generator, those of all ways, each as often. `fixed` are the rows of the instances that do not change. A
    row has the terms of all runs, one run after another; for a mean, its contrast.
    """
    totals = _totals(first, second, rng, count) + fixed.sum(axis=0)
    if statistic is mean:
        return totals[:, 0]
    n, parts = len(first) + len(fixed), np.split(totals, len(weights), axis=1)
    return contrast(weights, [statistic.value(part, n) for part in parts])


def _totals(first: Floats, second: Floats, rng: np.random.Generator | None, count: int) -> Floats:
    """Sums over instances of the rows that each way chooses: (ways, terms). A byte chooses those of eight instances."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)
    ways, changes = np.arange(count if rng else 2**_ENUMERATED), second - first
    totals = np.repeat(first.sum(axis=0)[:, None], len(ways), axis=1)
    for place in range(0, len(changes), 8):
        group = changes[place : place + 8]
        drawn = np.frombuffer(rng.bytes(count), np.uint8) if rng else ways >> place & 255
        for row, column in zip(totals, (bits[:, : len(group)] @ group).T, strict=True):
            row += np.ascontiguousarray(column).take(drawn)
    return totals.T


def _sign_test(above: int, count: int) -> float:
    """Two-sided binomial p of `above` heads in `count` fair tosses."""
    from scipy.special import bdtr  # here: it takes long to load

    return min(1.0, 2 * float(bdtr(min(above, count - above), count, 0.5)))


class Contrast(NamedTuple):
    """A weighted sum of a metric over runs: the parts of the same instances, shape (n, parts), and a weight for each
    run. The weights add up to 0, so runs with equal scores have a contrast of exactly 0.
    """

    measure: Metric
    runs: Sequence[Floats]
    weights: Sequence[float]

    @classmethod
    def between(cls, measure: Metric, now: Floats, before: Floats) -> Contrast:
        """The difference now - before."""
        return cls(measure, (now, before), (1.0, -1.0))

    def described(self, bootstrap: Bootstrap) -> dict[str, Any]:
        """{"value", "low", "high", "p", "better", "worse", "equal"}: the first three in the unit of the metric.

        `low`, `high` and `p` are None below MINIMUM instances (`rule`), the ends also where the statistic is not
        defined on every resample; how many instances are better, worse and equal is None for a metric of several parts.
        """
        measure, n = self.measure, len(self.runs[0])
        p, bounds = None, (math.nan, math.nan)
        if enough(n):
            p = contrast_p(measure.statistic, self.runs, self.weights, bootstrap.stream())
            bounds = bootstrap.interval_of_contrast(self.runs, self.weights, measure.statistic)
        low, high = (scaled(measure, bound) if math.isfinite(sum(bounds)) else None for bound in bounds)
        counts: dict[str, int | None] = dict.fromkeys(("better", "worse", "equal"))
        if len(measure.parts) == 1:
            higher = contrast(self.weights, self.runs)[:, 0]
            counts = changes(higher if measure.higher_is_better else -higher)._asdict()
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
