"""Resamples of instances, drawn with replacement, and the value of a statistic on each.

The draws are exact: instances with equal numbers are interchangeable, so a resample is described by how often each
distinct row occurs in it, which is multinomial. Rows that occur often get one binomial draw for each resample; the
others are drawn together (`Draws`). A resample of 120,000 accuracies costs one draw instead of 120,000.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError
from nightjar.statistics.statistic import Floats, Statistic

# Rows that occur so often get binomial draws, one of which costs some 20 numbers of `Draws`; heavier rows need more
# time there. At most HEAVIEST.
FREQUENT = 64
# Numbers that an array holds at a time: few enough for the processor's cache. One resample may have more.
BLOCK = 2**16
# Of a row, as one whole number of 64 bits.
LARGEST_CODE = 2**62

# The largest weight of a row: its Poisson numbers must be below UNDECIDED, which is 15 standard deviations above it.
HEAVIEST = 100
UNDECIDED = 255
# In standard deviations, how far the mean of the sum is below what is wanted. More means more single draws, less means
# more resamples that are drawn anew.
MARGIN = 2.5


def resampled(
    statistic: Statistic, systems: Sequence[Floats], samples: int, rng: np.random.Generator
) -> Floats:
    """The statistic of each system on the same `samples` resamples of the instances, shape (systems, samples).

    Each system has an array of shape (n, parts), rows in the same order of instances; (n,) is one part. Memory beside
    the arguments and the result: a few arrays of max(BLOCK, n x parts) numbers.
    """
    stacked = np.stack([as_rows(values) for values in systems])
    terms = statistic.terms(stacked)
    joined = sums(np.concatenate(list(terms), axis=1), samples, rng)
    split = np.split(joined, len(terms), axis=1)
    return np.stack([statistic.value(part, stacked.shape[1]) for part in split])


def as_rows(values: Floats) -> Floats:
    """`values` of shape (n, parts) as floats, after a check that they are finite; (n,) is one part."""
    rows = np.asarray(values, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or not rows.size:
        raise NightjarError(
            f"no instances, or not (n, parts): an array of shape {rows.shape}", "values", "give (n, parts)"
        )
    if not np.isfinite(rows).all():
        what = f"{np.count_nonzero(~np.isfinite(rows))} of {rows.size} are NaN or infinite"
        raise NightjarError(what, "values", "leave out what does not apply")
    return rows


def sums(
    rows: Floats,
    samples: int,
    rng: np.random.Generator,
    *,
    frequent: int = FREQUENT,
    margin: float = MARGIN,
    block: int = BLOCK,
) -> Floats:
    """Column sums of `samples` resamples of the rows, as many rows as there are: (n, terms) to (samples, terms).

    Rows that occur `frequent` times are drawn by binomials, the others by `Draws`; `block` numbers at a time.
    """
    n = len(rows)
    different, counts = distinct(rows)
    order = np.argsort(counts, kind="stable")
    different, counts = different[order], counts[order]
    few = int(np.searchsorted(counts, frequent))
    rare = Draws(counts[:few], margin)
    chances = [counts[:few].sum() / n, *counts[few:] / n]
    totals = np.empty((samples, rows.shape[1]))
    step = max(1, block // len(different))
    for start in range(0, samples, step):
        stop = min(start + step, samples)
        times = rng.multinomial(n, chances, size=stop - start)
        totals[start:stop] = times[:, 1:] @ different[few:]
        if few:
            totals[start:stop] += rare.counts(times[:, 0], rng).T @ different[:few]
    return totals


def distinct(rows: Floats, largest: int = LARGEST_CODE) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct rows and how often each occurs; NumPy's own way, with an axis, sorts records and takes long.

    Rows are numbered by codes of at most `largest`.
    """
    codes, size = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T:
        values, places = np.unique(column, return_inverse=True)
        if size * len(values) > largest:
            codes, size = np.unique(codes, return_inverse=True)[1], len(rows)
        codes, size = codes * len(values) + places, size * len(values)
    codes = np.unique(codes, return_inverse=True)[1]
    counts = np.bincount(codes)
    row_values = np.empty((len(counts), rows.shape[1]))
    row_values[codes] = rows
    return row_values, counts


class Draws:
    """Draws with replacement from rows of these weights, whole numbers from 1 to HEAVIEST, in ascending order.

    Independent Poisson numbers whose means are proportional to the chances of the rows are, given their sum, a
    multinomial draw of that size. Poisson numbers with a little less than the needed sum are drawn first; single draws
    add what is missing. A resample whose Poisson numbers exceed the sum is drawn by single draws alone. All three steps
    are exact, and most Poisson numbers cost one random byte: of the 256 bytes, floor(256 p) stand for a number of
    probability p, and the remaining bytes for a second draw, from what the rounding left.
    """

    def __init__(self, weights: NDArray[np.int64], margin: float = MARGIN) -> None:
        self.weights = weights
        values, starts, self._kinds = np.unique(weights, return_index=True, return_inverse=True)
        self._spans = list(itertools.pairwise([*starts.tolist(), len(weights)]))
        self._rows = np.repeat(np.arange(len(weights)), weights)
        means = values[:, None] * max(0.0, 1 - margin / np.sqrt(max(1, len(self._rows))))
        factors = np.concatenate([np.exp(-means), means / np.arange(1, UNDECIDED)], axis=1)
        chances = np.cumprod(factors, axis=1)
        bytes_of = np.floor(256 * chances).astype(np.int64)
        self._tables = [_table(row) for row in bytes_of]
        # Of each kind, the distribution of the second draw; all in one ascending column, kind k from k to k + 1.
        leftover = np.cumsum(chances - bytes_of / 256, axis=1)
        self._leftover = leftover / np.maximum(leftover[:, -1:], np.finfo(float).tiny)
        self._leftover += np.arange(len(values))[:, None]

    def counts(self, sizes: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """The number of times that each row occurs in sizes[i] draws: shape (rows, sizes)."""
        row_counts = self._poisson(len(sizes), rng)
        missing = sizes - row_counts.sum(axis=0).astype(np.int64)
        excessive = np.flatnonzero(missing < 0)
        row_counts[:, excessive], missing[excessive] = 0, sizes[excessive]
        single = self._rows[rng.integers(0, len(self._rows), size=int(missing.sum()))]
        # NumPy adds quickly where there is one index and the number has the type of the array.
        places = single * len(sizes) + np.repeat(np.arange(len(sizes)), missing)
        np.add.at(row_counts.reshape(-1), places, 1.0)
        return row_counts

    def _poisson(self, samples: int, rng: np.random.Generator) -> Floats:
        """Independent Poisson numbers, shape (rows, samples)."""
        drawn = rng.bytes(len(self.weights) * samples)
        pieces = zip(self._spans, self._tables, strict=True)
        numbers = [
            drawn[start * samples : stop * samples].translate(table) for (start, stop), table in pieces
        ]
        first = np.frombuffer(b"".join(numbers), np.uint8)
        poisson_counts = first.astype(np.float64)
        again = np.flatnonzero(first == UNDECIDED)
        kinds, width = self._kinds[again // samples], self._leftover.shape[1]
        places = np.searchsorted(self._leftover.ravel(), kinds + rng.random(len(again)), side="right")
        poisson_counts[again] = np.minimum(places - kinds * width, width - 1)
        return poisson_counts.reshape(len(self.weights), samples)


def _table(bytes_of: NDArray[np.int64]) -> bytes:
    """The number that each byte stands for, where the k-th number has so many bytes."""
    decided = np.repeat(np.arange(len(bytes_of), dtype=np.uint8), bytes_of).tobytes()
    return decided.ljust(256, bytes([UNDECIDED]))
