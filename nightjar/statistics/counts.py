"""How often each of many rows occurs among draws with replacement, one resample after another.

Independent Poisson numbers whose means are proportional to the chances of the rows are, given their sum, a multinomial
draw of that size. Poisson numbers with a little less than the wanted sum are drawn first; single draws add what is
missing. A resample whose Poisson numbers exceed the wanted sum is drawn by single draws alone. All three steps are
exact, and most Poisson numbers cost one random byte: of the 256 bytes, floor(256 p) stand for a number of probability
p, and the remaining bytes for a second draw, from what the rounding left.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from nightjar.statistics.statistic import Floats

# The largest weight of a row: its Poisson numbers must be below UNDECIDED, which is 15 standard deviations above it.
HEAVIEST = 100
UNDECIDED = 255
# In standard deviations, how far the mean of the sum is below what is wanted. More means more single draws, less means
# more resamples that are drawn anew.
MARGIN = 2.5


class Draws:
    """Draws with replacement from rows of these weights, whole numbers from 1 to HEAVIEST, in ascending order."""

    def __init__(self, weights: NDArray[np.int64]) -> None:
        self.weights = weights
        values, starts, self._kinds = np.unique(weights, return_index=True, return_inverse=True)
        self._spans = list(itertools.pairwise([*starts.tolist(), len(weights)]))
        self._rows = np.repeat(np.arange(len(weights)), weights)
        means = values[:, None] * max(0.0, 1 - MARGIN / np.sqrt(max(1, len(self._rows))))
        factors = np.concatenate([np.exp(-means), means / np.arange(1, UNDECIDED)], axis=1)
        chances = np.cumprod(factors, axis=1)
        bytes_of = np.floor(256 * chances).astype(np.int64)
        self._tables = [_table(row) for row in bytes_of]
        # Of each kind, the distribution of the second draw; all in one ascending column, kind k from k to k + 1.
        left = np.cumsum(chances - bytes_of / 256, axis=1)
        self._left = left / np.maximum(left[:, -1:], np.finfo(float).tiny)
        self._left += np.arange(len(values))[:, None]

    def counts(self, sizes: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """How often each row occurs in sizes[i] draws: shape (rows, sizes)."""
        found = self._poisson(len(sizes), rng)
        missing = sizes - found.sum(axis=0).astype(np.int64)
        over = np.flatnonzero(missing < 0)
        found[:, over], missing[over] = 0, sizes[over]
        single = self._rows[rng.integers(0, len(self._rows), size=int(missing.sum()))]
        # NumPy adds quickly where there is one index and the number has the type of the array.
        places = single * len(sizes) + np.repeat(np.arange(len(sizes)), missing)
        np.add.at(found.reshape(-1), places, 1.0)
        return found

    def _poisson(self, samples: int, rng: np.random.Generator) -> Floats:
        """Independent Poisson numbers, shape (rows, samples)."""
        drawn = rng.bytes(len(self.weights) * samples)
        pieces = zip(self._spans, self._tables, strict=True)
        numbers = [
            drawn[start * samples : stop * samples].translate(table) for (start, stop), table in pieces
        ]
        first = np.frombuffer(b"".join(numbers), np.uint8)
        found = first.astype(np.float64)
        again = np.flatnonzero(first == UNDECIDED)
        kinds, width = self._kinds[again // samples], self._left.shape[1]
        places = np.searchsorted(self._left.ravel(), kinds + rng.random(len(again)), side="right")
        found[again] = np.minimum(places - kinds * width, width - 1)
        return found.reshape(len(self.weights), samples)


def _table(bytes_of: NDArray[np.int64]) -> bytes:
    """The number that each byte stands for, where the k-th number has so many bytes."""
    decided = np.repeat(np.arange(len(bytes_of), dtype=np.uint8), bytes_of).tobytes()
    return decided.ljust(256, bytes([UNDECIDED]))
