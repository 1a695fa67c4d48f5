"""Postings: the texts of each word and its count in each, sorted by word in bounded memory.

The words of some texts at a time are sorted and written to disk as a run. The runs are then read side by side, some
words at a time. Words are numbered in the order in which they first occur.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Words of texts that are sorted at once, and entries that are read at once.
BLOCK = 8_000_000
# Bits of a text's number in a key; those above are the word's.
_BITS = 32


class Entries(NamedTuple):
    """Entries of the words `first` <= word < `last`, sorted by word, then text.

    Shapes (last - first,) for `found_in`, the texts that each word is in, and (entries,) for the numbers of the texts
    and how often the word is there.
    """

    first: int
    last: int
    found_in: NDArray[np.int64]
    texts: NDArray[np.int32]
    times: NDArray[np.int64]


class Postings:
    """Reads lists of words, one a text, and keeps them as runs in `folder`, which must exist.

    `vocabulary` has the number of each word, `lengths` the number of words of each text, shape (texts,).
    """

    def __init__(self, texts: Iterable[list[str]], folder: Path) -> None:
        self.vocabulary: dict[str, int] = {}
        self._folder, self._runs = folder, 0
        number = self.vocabulary.setdefault
        block, lengths = array("i"), array("i")
        first = 0
        for words in texts:
            block.extend([number(word, len(self.vocabulary)) for word in words])
            lengths.append(len(words))
            if len(block) >= BLOCK:
                self._write(block, lengths, first)
                block, first = array("i"), len(lengths)
        self._write(block, lengths, first)
        self.lengths: NDArray[np.int32] = np.array(lengths, np.int32)
        self.found_in = np.zeros(len(self.vocabulary), np.int64)
        for run in range(self._runs):
            run_counts = np.bincount(self._keys(run) >> _BITS, minlength=len(self.vocabulary))
            self.found_in += run_counts

    def __iter__(self) -> Iterator[Entries]:
        """The entries of all words, about BLOCK at a time."""
        ends = self.found_in.cumsum()
        first = 0
        while first < len(ends):
            start = ends[first - 1] if first else 0
            last = max(first + 1, int(ends.searchsorted(start + BLOCK, "right")))
            yield self._between(first, last, int(ends[last - 1] - start))
            first = last

    def _between(self, first: int, last: int, count: int) -> Entries:
        texts, times = np.empty(count, np.int32), np.empty(count, np.int64)
        found_in = self.found_in[first:last]
        free = found_in.cumsum() - found_in  # where the next entry of each word belongs
        for run in range(self._runs):
            keys = self._keys(run)
            part = slice(*keys.searchsorted([first << _BITS, last << _BITS]))
            part_keys = keys[part]
            word_counts = np.bincount((part_keys >> _BITS) - first, minlength=last - first)
            places = np.arange(len(part_keys)) + np.repeat(
                free - (word_counts.cumsum() - word_counts), word_counts
            )
            texts[places] = part_keys & ((1 << _BITS) - 1)
            times[places] = np.load(self._file(run, "times"), mmap_mode="r")[part]
            free += word_counts
        return Entries(first, last, found_in, texts, times)

    def _write(self, block: array[int], lengths: array[int], first: int) -> None:
        sizes = np.array(lengths[first:], np.int64)
        keys = np.array(block, np.int64) << _BITS
        keys |= np.repeat(np.arange(first, len(lengths)), sizes)
        keys.sort()
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        np.save(self._file(self._runs, "keys"), keys[starts])
        np.save(self._file(self._runs, "times"), np.diff(starts, append=len(keys)).astype(np.int32))
        self._runs += 1

    def _keys(self, run: int) -> NDArray[np.int64]:
        keys: NDArray[np.int64] = np.load(self._file(run, "keys"), mmap_mode="r").view(np.ndarray)
        return keys

    def _file(self, run: int, of: str) -> Path:
        return self._folder / f"{of}-{run}.npy"
