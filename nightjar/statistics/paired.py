"""The paired permutation test of two systems on the same instances: could the difference be chance?

If the systems were equal, the answers of an instance could be swapped between them. p is the share of all ways to swap
whose difference of the statistic is as far from zero as the observed one, on either side. For a mean, a swap flips the
sign of the instance's difference.

The test holds for any distribution of scores, zeros and ties included. Unlike a p from bootstrap resamples, which are
drawn around the observed difference and not around zero, it is exact: a true null gets a p of at most x with at most
that probability. All ways are enumerated where they are few. Otherwise they are sampled, the observed one among them,
so that p is never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.statistics.resample import as_rows, blocks
from nightjar.statistics.statistic import Floats, OfSums, Statistic, mean

SAMPLES = 10_000
# Up to so many differences that are not zero, all ways are tried: 65,536.
_ENUMERATED = 16
# Bytes of signs at a time: 16 MB of sums.
_BYTES = 1_000_000
# Sums that are equal may differ in their last bits.
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
    """Two-sided p of the mean of paired `differences` under flips of their signs; 1 if all are zero.

    Exact if all that are not zero have one size (as those of exact match: then it is the sign test, McNemar's
    exact form) or are few; else (1 + ways as extreme) / (1 + samples).
    """
    sizes = np.abs(differences[differences != 0])
    count = len(sizes)
    if not count:
        return 1.0
    seen = abs(float(differences.sum())) - _CLOSE * float(sizes.sum())
    if sizes.max() == sizes.min():
        return _sign_test(count, int((differences > 0).sum()))
    if count <= _ENUMERATED:
        ways = np.arange(2**count, dtype=np.int64)
        tried = (ways[:, None] >> np.arange(count)) & 1
        return float((np.abs(_sums(tried, sizes)) >= seen).mean())
    # A byte holds eight signs. What each of its 256 values adds is looked up, a table for every eight instances.
    eights = np.append(sizes, np.zeros(-count % 8)).reshape(-1, 8)
    table = np.stack(
        [_sums(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1), one) for one in eights]
    )
    places = np.arange(len(eights)) * 256
    extreme, step = 0, max(1, _BYTES // len(eights))
    for start in range(0, samples, step):
        drawn = min(step, samples - start)
        signs = np.frombuffer(rng.bytes(drawn * len(eights)), np.uint8).reshape(drawn, len(eights))
        extreme += int((np.abs(table.ravel()[signs + places].sum(axis=1)) >= seen).sum())
    return (1 + extreme) / (1 + samples)


def permutation_p(
    statistic: Statistic, a: Floats, b: Floats, rng: np.random.Generator, samples: int = SAMPLES
) -> float:
    """Two-sided p of statistic(a) - statistic(b) if the systems' parts are swapped instance by instance.

    `a` and `b` have the parts of the same instances in the same order, shape (n, parts) or (n,). Exact if at most 16
    instances have different parts, 1 if none has; else (1 + ways as extreme) / (1 + samples). For the mean it is
    `p_value`. Memory beside the arguments: some arrays of `resample.BLOCK` numbers, or of n x parts if that is more.
    Raises ValueError for no instance or unequal shapes.
    """
    a, b = as_rows(a), as_rows(b)
    if a.shape != b.shape:
        raise ValueError(f"the systems have arrays of shapes {a.shape} and {b.shape}")
    if statistic is mean:
        return p_value(a[:, 0] - b[:, 0], rng, samples)
    differ = np.flatnonzero((a != b).any(axis=1))
    if not len(differ):
        return 1.0
    swapped, size = _swapped(statistic, np.stack([a, b]), differ)
    first, second = swapped(np.zeros((1, len(differ))))
    seen = abs(float(first[0] - second[0])) - _CLOSE * max(1.0, abs(float(first[0])), abs(float(second[0])))
    enumerated = len(differ) <= _ENUMERATED
    extreme = tried = 0 if enumerated else 1
    ways = _all_ways(len(differ), size) if enumerated else _random_ways(len(differ), size, rng, samples)
    for way in ways:
        first, second = swapped(way)
        extreme += int((np.abs(first - second) >= seen).sum())
        tried += len(way)
    return extreme / tried


def _swapped(
    statistic: Statistic, systems: Floats, differ: NDArray[np.int64]
) -> tuple[Callable[[Floats], tuple[Floats, Floats]], int]:
    """What gives both systems' statistics for ways to swap, and how many numbers it holds for one way.

    `systems` has shape (2, n, parts). A way is a row of ones, where the instance differ[i] is swapped, and zeros.
    """
    n = systems.shape[1]
    if isinstance(statistic, OfSums):
        terms = statistic.terms(systems)
        first, second = terms.sum(axis=1)
        change = (terms[1] - terms[0])[differ]

        def of_sums(ways: Floats) -> tuple[Floats, Floats]:
            moved = ways @ change
            return statistic.value(first + moved, n), statistic.value(second - moved, n)

        return of_sums, max(change.shape)

    def of_arrays(ways: Floats) -> tuple[Floats, Floats]:
        chosen = np.zeros((len(ways), n, 1), dtype=np.bool_)
        chosen[:, differ, 0] = ways > 0
        return (
            statistic(np.where(chosen, systems[1], systems[0])),
            statistic(np.where(chosen, systems[0], systems[1])),
        )

    return of_arrays, systems[0].size


def _all_ways(count: int, size: int) -> Iterator[Floats]:
    for start, stop in blocks(2**count, size):
        ways = np.arange(start, stop, dtype=np.int64)
        yield ((ways[:, None] >> np.arange(count)) & 1).astype(np.float64)


def _random_ways(count: int, size: int, rng: np.random.Generator, samples: int) -> Iterator[Floats]:
    for start, stop in blocks(samples, size):
        yield rng.integers(0, 2, size=(stop - start, count), dtype=np.bool_).astype(np.float64)


def _sums(bits: NDArray[Any], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """For every row of zeros and ones the sum of the sizes, added where 1 and taken away where 0."""
    sums: NDArray[np.float64] = 2 * (bits.astype(np.float64) @ sizes) - sizes.sum()
    return sums


def _sign_test(count: int, above: int) -> float:
    """Two-sided binomial p of `above` heads in `count` fair tosses."""
    fewer = min(above, count - above)
    tail, ways = 1, 1
    for heads in range(1, fewer + 1):
        ways = ways * (count - heads + 1) // heads
        tail += ways
    # Whole numbers first: 2**-count alone would be zero as a float from a thousand tosses on.
    return min(1.0, 2 * math.exp(math.log(tail) - count * math.log(2)))
