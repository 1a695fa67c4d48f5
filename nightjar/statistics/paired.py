"""The one test: could the difference of two systems, or the trend over several runs, be chance?

If the runs were equal, their answers to an instance could change places. p is the share of all ways to permute the runs
within each instance whose contrast of the statistic is as far from zero as the observed one, on either side. For two
runs a permutation is a swap; for a mean, a swap flips the sign of the instance's difference.

The test holds for any distribution of scores, zeros and ties included, and is exact: a true null gets a p of at most x
with at most that probability. All ways are enumerated for two runs that differ on few instances. Otherwise SAMPLES ways
are sampled and the observed one is counted, so that p is never 0; where no sampled way is as extreme, ten times as many
are sampled anew. p depends neither on the order of the instances nor on which of two runs comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nightjar.statistics.resample import as_rows, blocks, in_order
from nightjar.statistics.statistic import Floats, OfSums, Statistic, mean

SAMPLES = 10_000
# A byte chooses the way of eight instances of two runs, or of one instance of more runs.
_TOGETHER, _WAYS = 8, 256
# Up to so many instances on which two runs differ, all ways are tried: 65,536.
_ENUMERATED = 16
# Numbers in the tables of ways at a time: 8 MB.
_TABLES = 2**20
# Contrasts that are equal may differ in their last bits.
_CLOSE = 1e-9


@dataclass(frozen=True)
class Moved:
    """How many instances one system does better, worse and equally well on than the other."""

    better: int
    worse: int
    equal: int


def moved(differences: NDArray[np.float64]) -> Moved:
    """Counts of the differences above, below and at zero; scores are equal to the last bit or differ."""
    better, worse = int((differences > 0).sum()), int((differences < 0).sum())
    return Moved(better, worse, len(differences) - better - worse)


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
    """Two-sided p of the sum of weight x statistic over `runs`, whose parts are permuted within each instance.

    The runs have the parts of the same instances in the same order, shape (n, parts) or (n,) each; the weights add up
    to 0. For two runs it is exact if at most 16 instances differ, or if all differences of a mean have one size (as
    those of exact match: then it is the sign test, McNemar's exact form); 1 if the runs are equal. A way on which the
    statistic is not defined counts as extreme. Raises ValueError for no instance, unequal shapes, NaN and infinity.

    Memory beside the arguments: some arrays of the size of all runs, of 2**20 numbers, and of `samples` x runs x terms.
    """
    rows = [as_rows(run) for run in runs]
    if len({run.shape for run in rows}) > 1:
        raise ValueError(f"the systems have arrays of shapes {' and '.join(str(run.shape) for run in rows)}")
    stacked = np.stack(rows)
    terms = statistic.terms(stacked) if isinstance(statistic, OfSums) else stacked
    differ = (terms != terms[0]).any(axis=(0, 2))
    if not differ.any():
        return 1.0
    moving, of = terms[:, differ], np.array(weights)
    if len(rows) == 2:
        moving = _lower_first(moving)
        if statistic is mean and np.ptp(moving[1] - moving[0]) == 0:
            return _sign_test(stacked[0, :, 0] - stacked[1, :, 0])
    moving, fixed = in_order(moving), terms[:, ~differ]
    if statistic is mean:
        centred = of[:, None] * (stacked[:, :, 0] - stacked[0, :, 0])
        observed, close = float(centred.sum()), _CLOSE * float(np.abs(centred).sum())
    else:
        values = statistic(stacked)
        observed, close = float(of @ values), _CLOSE * max(1.0, float(np.abs(values).max()))
    seen = abs(observed) - close

    def extreme(contrasts: Floats) -> int:
        return int((~(np.abs(contrasts) < seen)).sum())

    if len(rows) == 2 and moving.shape[1] <= _ENUMERATED:
        found = np.concatenate(list(_contrasts(statistic, moving, fixed, of, None, 0)))
        return extreme(found) / len(found)
    count = beyond = 0
    for count in (samples, 10 * samples):
        beyond = sum(map(extreme, _contrasts(statistic, moving, fixed, of, rng, count)))
        if beyond:
            break
    return (1 + beyond) / (1 + count)


def _lower_first(moving: Floats) -> Floats:
    """Two runs, (2, n, terms), with the smaller row of every instance first: which run is which makes no difference."""
    place = (moving[0] != moving[1]).argmax(axis=1)[:, None]
    first, second = (np.take_along_axis(run, place, axis=1) for run in moving)
    return np.where(first > second, moving[::-1], moving)


def _contrasts(
    statistic: Statistic,
    moving: Floats,
    fixed: Floats,
    weights: Floats,
    rng: np.random.Generator | None,
    count: int,
) -> Iterator[Floats]:
    """The contrasts of `count` sampled ways to permute the runs of `moving`, (runs, instances, terms).

    Without a generator, those of all ways to swap two runs, each as often. `fixed` are the instances on which the runs
    are equal.
    """
    if not isinstance(statistic, OfSums):
        for orders in _orders(len(moving), moving.shape[1], rng, count, moving.size + fixed.size):
            mixed = np.take_along_axis(moving.transpose(1, 0, 2)[None], orders[..., None], axis=2)
            contrasts = np.zeros(len(orders))
            for run, weight in enumerate(weights):
                same = np.broadcast_to(fixed[run], (len(orders), *fixed[run].shape))
                contrasts += weight * statistic(np.concatenate([mixed[:, :, run], same], axis=1))
            yield contrasts
        return
    runs, n, terms = len(moving), moving.shape[1] + fixed.shape[1], moving.shape[2]
    linear = weights if statistic is mean else None
    totals = _totals(moving, linear, rng, count)
    if linear is not None:
        yield totals[:, 0]
        return
    sums = totals.reshape(-1, runs, terms) + fixed.sum(axis=1)
    yield sum(
        (weight * statistic.value(sums[:, run], n) for run, weight in enumerate(weights)), np.zeros(len(sums))
    )


def _orders(
    runs: int, n: int, rng: np.random.Generator | None, count: int, size: int
) -> Iterator[NDArray[np.int64]]:
    """Orders of the runs for every instance, (ways, n, runs): sampled, or without a generator all ways to swap two."""
    for start, stop in blocks(count if rng else 2**n, size):
        if rng:
            yield rng.permuted(np.broadcast_to(np.arange(runs), (stop - start, n, runs)), axis=2)
        else:
            first = (np.arange(start, stop)[:, None] >> np.arange(n)) & 1
            yield np.stack([first, 1 - first], axis=2)


def _totals(moving: Floats, linear: Floats | None, rng: np.random.Generator | None, count: int) -> Floats:
    """The sums over instances of what each run has after a way to permute the runs: (ways, runs x terms).

    With weights of the runs, `linear`, the one term's sum over instances and runs: (ways, 1). What a byte adds is
    looked up in tables, (groups of instances, 256, sums).
    """
    runs, n, terms = moving.shape
    width, each = 1 if linear is not None else runs * terms, _TOGETHER if runs == 2 else 1
    found = np.zeros((width, count if rng else 2**_ENUMERATED))
    step, ways = each * max(1, _TABLES // (_WAYS * width)), np.arange(found.shape[1])
    for start in range(0, n, step):
        part = moving[:, start : start + step]
        table = _swaps(part, linear) if runs == 2 else _permutations(part, linear, rng)
        for group, columns in enumerate(np.ascontiguousarray(table.transpose(0, 2, 1))):
            # One group after another: its row of the table stays in the processor's cache.
            drawn = np.frombuffer(rng.bytes(count), np.uint8) if rng else ways // _WAYS**group % _WAYS
            for row, column in zip(found, columns, strict=True):
                row += column.take(drawn)
    return found.T


def _summed(chosen: Floats, linear: Floats | None) -> Floats:
    """What orders add to the sums: of (instances, orders, runs, terms)."""
    return chosen.reshape(*chosen.shape[:2], -1) if linear is None else chosen[..., 0] @ linear[:, None]


def _swaps(part: Floats, linear: Floats | None) -> Floats:
    """The table of all ways to swap two runs of eight instances together: (groups, 256, sums)."""
    rows = np.stack([part, part[::-1]]).transpose(2, 0, 1, 3)
    added = _summed(rows, linear)
    added = np.concatenate([added, np.zeros((-len(added) % _TOGETHER, *added.shape[1:]))])
    groups = added.reshape(-1, _TOGETHER, *added.shape[1:])
    bits = np.unpackbits(np.arange(_WAYS, dtype=np.uint8)[:, None], axis=1).astype(np.float64)
    table: Floats = groups[:, :, 0].sum(axis=1)[:, None] + bits @ (groups[:, :, 1] - groups[:, :, 0])
    return table


def _permutations(part: Floats, linear: Floats | None, rng: np.random.Generator | None) -> Floats:
    """The table of the observed order of each instance's runs and 255 random ones: (instances, 256, sums).

    Under the null all 256 have the same chance to be the observed one, so that a test among them alone is exact.
    """
    assert rng is not None
    runs, n = part.shape[:2]
    orders = np.tile(np.arange(runs), (n, _WAYS, 1))
    rng.permuted(orders[:, 1:], axis=2, out=orders[:, 1:])
    return _summed(np.take_along_axis(part.transpose(1, 0, 2)[:, None], orders[..., None], axis=2), linear)


def _sign_test(differences: Floats) -> float:
    """Two-sided binomial p: the differences that are not zero are fair tosses."""
    from scipy.special import bdtr  # here: it takes long to load

    above, below = int((differences > 0).sum()), int((differences < 0).sum())
    return min(1.0, 2 * float(bdtr(min(above, below), above + below, 0.5)))
