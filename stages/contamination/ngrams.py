"""All n-grams of the test texts, and where a training text has one of them: exact, and fast by 64-bit hashes.

Words are numbered by the vocabulary of the test texts; a training window with any other word cannot match, which
leaves few to hash. Windows are hashed by doubling (a hash of 2k words from two of k), looked up in a bitmap, then among
the sorted hashes, and at last compared word by word, so that no chance equality of hashes is reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stages.contamination.words import Ints, Words

Hashes = NDArray[np.uint64]
_MOST_BITS = 24


def rolling(numbers: NDArray[np.int32], n: int, table: Hashes, factor: np.uint64) -> Hashes:
    """The hash of every window of n numbers: a polynomial, modulo 2^64, in values that `table` gives the numbers.

    Shape (len(numbers) - n + 1,), or (0,) if there are fewer than n.
    """
    if len(numbers) < n:
        return np.zeros(0, np.uint64)
    power, width = factor, 1  # of windows of `width`: factor ** width
    part = table[numbers]
    whole: Hashes | None = None
    done, rest = 0, n
    with np.errstate(over="ignore"):
        while rest:
            if rest & 1:
                # `done` words so far, `width` more behind them.
                if whole is None:
                    whole = part
                else:
                    size = min(len(whole), len(part) - done)
                    whole = whole[:size] * power + part[done : done + size]
                done += width
            rest >>= 1
            if rest:
                part = part[:-width] * power + part[width:]
                power, width = power * power, 2 * width
    assert whole is not None
    return whole[: len(numbers) - n + 1]


@dataclass(frozen=True)
class Hits:
    """Which n-gram is where: numbers of distinct test n-grams, and of the texts that have them, in order."""

    grams: Ints
    texts: Ints


class Grams:
    """The distinct n-grams of some texts. `windows` are the first words of all n-grams (numbers of flat words), `texts`
    the texts they are in, `which` the distinct n-gram of each."""

    def __init__(self, texts: Words, n: int) -> None:
        self.n = n
        self.vocabulary: pa.Array = pc.unique(texts.flat)
        self.numbers = self._number(texts.flat)
        self.windows, self.texts = _windows(texts, n)
        for seed in range(8):
            random = np.random.default_rng(seed)
            self._table = random.integers(0, 2**64, max(len(self.vocabulary), 1), np.uint64)
            self._factor = np.uint64(random.integers(0, 2**63, dtype=np.uint64) * np.uint64(2) + np.uint64(1))
            hashes = rolling(self.numbers, n, self._table, self._factor)[self.windows]
            self._hashes, first, self.which = np.unique(hashes, return_index=True, return_inverse=True)
            self.first = self.windows[first]  # a place of every distinct n-gram
            if self._equal(self.numbers, self.windows, self.which).all():
                break
        else:
            raise AssertionError("hashes of 64 bits collide whatever the seed")
        # Some 32 places an n-gram: nearly all windows that are none of them end here.
        bits = min(_MOST_BITS, len(self).bit_length() + 5)
        self._shift = np.uint64(64 - bits)
        self._bitmap = np.zeros(1 << bits, np.bool_)
        self._bitmap[self._hashes >> self._shift] = True

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, texts: Words) -> Hits:
        """Every place of an n-gram in other texts."""
        numbers = self._number(texts.flat)
        windows, owners = _windows(texts, self.n)
        unknown = np.concatenate([[0], np.cumsum(numbers < 0)])
        known = unknown[windows + self.n] == unknown[windows]
        windows, owners = windows[known], owners[known]
        hashes = rolling(np.maximum(numbers, 0), self.n, self._table, self._factor)[windows]
        maybe = self._bitmap[hashes >> self._shift]
        windows, owners, hashes = windows[maybe], owners[maybe], hashes[maybe]
        grams = np.minimum(np.searchsorted(self._hashes, hashes), len(self) - 1)
        same = self._hashes[grams] == hashes if len(self) else np.zeros(0, np.bool_)
        windows, owners, grams = windows[same], owners[same], grams[same]
        same = self._equal(numbers, windows, grams)
        return Hits(grams[same], owners[same])

    def _number(self, flat: pa.Array) -> NDArray[np.int32]:
        found = pc.index_in(flat, value_set=self.vocabulary)
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int32)

    def _equal(self, numbers: NDArray[np.int32], windows: Ints, grams: Ints) -> NDArray[np.bool_]:
        """Whether the words of each window are those of its n-gram."""
        same = np.ones(len(windows), np.bool_)
        first = self.first[grams]
        for step in range(self.n):
            same &= numbers[windows + step] == self.numbers[first + step]
        return same


def _windows(texts: Words, n: int) -> tuple[Ints, Ints]:
    """The first word of every window of n words that lies in one text, and that text."""
    counts = np.maximum(texts.lengths - n + 1, 0)
    owners = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    before = np.concatenate([[0], np.cumsum(counts)])[:-1]
    return texts.starts[owners] + np.arange(len(owners)) - before[owners], owners
