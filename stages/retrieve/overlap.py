"""Which passages hold a text that is looked up, or are held by it: a corpus may contain the questions themselves.

Texts are compared as words in lower case and NFC: one holds another if its words are there in a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# Runs of so many words are compared by their checksums. A text is found by the longest run that it begins with.
RUNS = (1, 2, 4, 8)
PASSAGES_PER_CHUNK = 65_536
_FACTOR, _TABLE = np.uint64(0x9E3779B97F4A7C15), np.uint64(1 << 22)


def as_words(texts: pa.ChunkedArray) -> pa.Array:
    """Each text as its words (letters, marks and digits) in lower case and NFC, with one blank between them."""
    lower = pc.utf8_lower(pc.utf8_normalize(pc.cast(texts, pa.large_string()), "NFC"))
    apart = pc.replace_substring_regex(lower, r"[^\p{L}\p{M}\p{N}]+", " ")
    return pc.utf8_trim(apart, " ").combine_chunks()


@dataclass(frozen=True)
class Overlaps:
    """Pairs of a query and a passage, by their numbers; `equal` says which of them are equal as words."""

    queries: NDArray[np.int64]
    passages: NDArray[np.int64]
    equal: NDArray[np.bool_]


class Corpus:
    """The passages of an index, ready to be compared with texts: about three times the memory of their texts, of which
    `together` are made ready at once.
    """

    def __init__(self, passages: pa.ChunkedArray, together: int = PASSAGES_PER_CHUNK) -> None:
        starts = range(0, len(passages), together)
        slices = (passages.slice(start, together) for start in starts)
        self._chunks = [(start, _Texts(as_words(it))) for start, it in zip(starts, slices, strict=True)]

    def overlaps(self, queries: Sequence[str], beside: float) -> Overlaps:
        """All pairs in which the query holds the passage, or the passage the query and at most `beside` words more.

        A text without a word is in no pair. The pairs are in the order of (query, passage).
        """
        outer = _Texts(as_words(pa.chunked_array([queries], pa.large_string())))
        pairs: dict[tuple[int, int], bool] = {}
        for start, chunk in self._chunks:
            contained_pairs = [(query, passage) for passage, query in _contained(chunk, outer)]
            if beside:
                longest = outer.lengths + beside
                contained_pairs += [
                    pair for pair in _contained(outer, chunk) if chunk.lengths[pair[1]] <= longest[pair[0]]
                ]
            for query, passage in contained_pairs:
                pairs[query, start + passage] = outer.words[query] == chunk.words[passage]
        order = sorted(pairs)
        table = np.array(order, np.int64).reshape(-1, 2)
        return Overlaps(table[:, 0], table[:, 1], np.array([pairs[pair] for pair in order], np.bool_))


class _Texts:
    """Texts as words, and a checksum for every word: `sums`, those of text n from `bounds[n]` to `bounds[n + 1]`."""

    def __init__(self, words: pa.Array) -> None:
        self.words: list[str] = words.to_pylist()
        split = pc.split_pattern(words, " ")
        # An empty text has one word, the empty one.
        lengths = np.where(pc.binary_length(words).to_numpy() > 0, pc.list_value_length(split).to_numpy(), 0)
        flat = pc.list_flatten(split)
        named = pc.filter(flat, pc.greater(pc.binary_length(flat), 0)).dictionary_encode()
        values = np.fromiter(map(_checksum, named.dictionary.to_pylist()), np.uint64, len(named.dictionary))
        self.sums = values[named.indices.to_numpy()] if len(named) else np.zeros(0, np.uint64)
        self.lengths = lengths.astype(np.int64)
        self.bounds = np.concatenate([[0], np.cumsum(self.lengths)])

    def runs(self, size: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """A checksum for the run of `size` words from every word on, and the text that it is in."""
        owner = np.repeat(np.arange(len(self.lengths)), self.lengths)
        sums = _rolled(self.sums, size)
        inside = owner[: len(sums)] == owner[size - 1 :] if len(sums) else np.zeros(0, np.bool_)
        return sums[inside], owner[: len(sums)][inside]

    def beginnings(self, size: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The same for the runs that the texts begin with, of those whose longest run of RUNS is `size`."""
        longer = next((run for run in RUNS if run > size), None)
        chosen = self.lengths >= size if longer is None else (self.lengths >= size) & (self.lengths < longer)
        text_numbers = np.flatnonzero(chosen)
        return _rolled(self.sums, size)[self.bounds[text_numbers]] if len(text_numbers) else np.zeros(
            0, np.uint64
        ), text_numbers


def _checksum(word: str) -> int:
    # Not hash(), which differs from process to process.
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")


def _rolled(sums: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Checksums of all runs of `size` words, one for each place where such a run begins."""
    count = max(0, len(sums) - size + 1)
    checksums = np.zeros(count, np.uint64)
    for place in range(size):
        checksums = checksums * _FACTOR + sums[place : place + count]
    return checksums


def _contained(inner: _Texts, outer: _Texts) -> Iterator[tuple[int, int]]:
    """The pairs (n, m) in which text n of `inner` is in text m of `outer`; a pair may come more than once."""
    for size in RUNS:
        beginnings, text_numbers = inner.beginnings(size)
        order = np.argsort(beginnings, kind="stable")
        beginnings, text_numbers = beginnings[order], text_numbers[order]
        sums, others = outer.runs(size)
        # Most runs are in no text: a table of the last bits finds that out faster than a search.
        known_beginnings = np.zeros(int(_TABLE), np.bool_)
        known_beginnings[beginnings % _TABLE] = True
        likely = np.flatnonzero(known_beginnings[sums % _TABLE])
        sums, others = sums[likely], others[likely]
        ends = (np.searchsorted(beginnings, sums, side).tolist() for side in ("left", "right"))
        for outer_number, first, last in zip(others.tolist(), *ends, strict=True):
            for number in text_numbers[first:last].tolist():
                if f" {inner.words[number]} " in f" {outer.words[outer_number]} ":
                    yield number, outer_number
