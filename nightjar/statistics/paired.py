"""The paired test of two systems on the same instances: could the difference be chance?

The test flips signs. If the systems were equal, each instance's difference would be as likely the other way
round; p is the share of all ways to flip the signs whose mean lies as far from zero as the one that was seen.
It holds for any distribution of scores, zeros and ties included, and unlike a p read off bootstrap resamples,
which are drawn around the difference that was seen and not around zero, it is exact: a true null is called
different at level p in at most that share of cases. Where the ways can be counted they are; else they are
sampled, the observed one among them, so that p is never 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
