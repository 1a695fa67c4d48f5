"""All n-grams of some texts, and where another text has one of them: exact, and fast by 64-bit hashes.

Words are lower-cased, without punctuation and symbols, cut at white space, as published for n-gram overlap; and in NFC,
so that equal texts are equal however they were typed. A script without spaces between words gives long "words": there
only texts as a whole can be found.

Words are numbered by the vocabulary of the first texts. A window with any other word cannot match, which leaves few to
look up among the sorted hashes. What is found is compared word by word, so that no chance equality of hashes is
reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Words:
    """The words of some texts one after another; the words of text i are those from offsets[i] to offsets[i + 1]."""

    flat: pa.Array
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def joined(self, texts: Ints) -> pa.Array:
        """The words of the texts of these numbers, joined by single blanks."""
        lists = pa.ListArray.from_arrays(pa.array(self.offsets, pa.int32()), self.flat)
        return pc.binary_join(lists.take(pa.array(texts)), " ")


def words(texts: pa.Array) -> Words:
    """The words of every text; a text of none has length 0."""
    lower = pc.utf8_lower(pc.utf8_normalize(texts, "NFC"))
    bare = pc.replace_substring_regex(lower, pattern=r"[\p{P}\p{S}]+", replacement="")
    lists = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(bare))
    offsets = lists.offsets.to_numpy().astype(np.int64)
    flat = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
    offsets -= offsets[0]
    # A text of no words comes as one empty word.
    real = pc.not_equal(flat, "").to_numpy(zero_copy_only=False)
    if not real.all():
        before = np.concatenate([[0], np.cumsum(real)])
        offsets, flat = before[offsets], flat.filter(pa.array(real))
    return Words(flat, offsets)


Hashes = NDArray[np.uint64]
# Odd, and any.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def rolling(numbers: NDArray[np.int32], n: int, values: Hashes) -> Hashes:
    """The hash of every window of n numbers: a polynomial, modulo 2^64, in the `values` of the numbers.

    Shape (len(numbers) - n + 1,), or (0,) if there are fewer than n.
    """
    count = max(0, len(numbers) - n + 1)
    hashes = np.zeros(count, np.uint64)
    for place in range(n):
        hashes = hashes * _FACTOR + values[numbers[place : place + count]]
    return hashes


class Numbered:
    """Texts as numbers of words, -1 for a word of no number. `ahead` has for every word how many words with a number
    follow in its text, itself included: a window of n words begins where it is n or more.
    """

    def __init__(self, texts: Words, vocabulary: pa.Array) -> None:
        word_numbers = pc.index_in(texts.flat, value_set=vocabulary)
        self.numbers = pc.fill_null(word_numbers, -1).to_numpy(zero_copy_only=False).astype(np.int32)
        self.offsets = texts.offsets
        places = np.arange(len(self.numbers), dtype=np.int64)
        # The first word of no number from each word on; all from there to the end of the text have one otherwise.
        unknown = np.where(self.numbers < 0, places, len(places))
        next_unknown = np.minimum.accumulate(unknown[::-1])[::-1]
        self.ahead: Ints = np.minimum(next_unknown, np.repeat(texts.offsets[1:], texts.lengths)) - places

    def owners(self, windows: Ints) -> Ints:
        """The texts that these words are in."""
        text_numbers: Ints = np.searchsorted(self.offsets, windows, side="right") - 1
        return text_numbers


@dataclass(frozen=True)
class Hits:
    """Which n-gram is where: numbers of distinct n-grams, and of the texts that have them, in order."""

    grams: Ints
    texts: Ints


class Grams:
    """The distinct n-grams of some texts. `windows` are the first words of all n-grams (numbers of flat words), `texts`
    the texts they are in, `which` the distinct n-gram of each. `among` says which of the texts count.
    """

    def __init__(self, numbered: Numbered, among: NDArray[np.bool_], n: int) -> None:
        self.n = n
        lengths = np.diff(numbered.offsets)
        chosen = np.flatnonzero(among & (lengths >= n))
        places, starts = _runs(numbered.offsets[chosen], lengths[chosen])
        self.numbers = numbered.numbers[places]  # the words of these texts alone
        windows, _ = _runs(starts, lengths[chosen] - n + 1)
        self.windows, self.texts = places[windows], np.repeat(chosen, lengths[chosen] - n + 1)
        words = int(numbered.numbers.max(initial=0)) + 1
        self._values = np.random.default_rng(0).integers(0, 2**64, words, np.uint64)
        hashes = rolling(self.numbers, n, self._values)[windows]
        self._hashes, first, self.which = np.unique(hashes, return_index=True, return_inverse=True)
        self.first = windows[first]  # a place of every distinct n-gram
        if not self._equal(self.numbers, windows, self.which).all():
            raise AssertionError("two n-grams have one hash of 64 bits")

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, numbered: Numbered) -> Hits:
        """Every place of an n-gram in other texts, numbered by the same vocabulary."""
        windows = np.flatnonzero(numbered.ahead >= self.n)
        if not len(windows) or not len(self):
            return Hits(windows[:0], windows[:0])
        hashes = rolling(np.maximum(numbered.numbers, 0), self.n, self._values)[windows]
        grams = np.minimum(np.searchsorted(self._hashes, hashes), len(self) - 1)
        same = self._hashes[grams] == hashes
        windows, grams = windows[same], grams[same]
        same = self._equal(numbered.numbers, windows, grams)
        return Hits(grams[same], numbered.owners(windows[same]))

    def _equal(self, numbers: NDArray[np.int32], windows: Ints, grams: Ints) -> NDArray[np.bool_]:
        """Tell whether the words of each window are those of its n-gram."""
        equal = np.ones(len(windows), np.bool_)
        first = self.first[grams]
        for step in range(self.n):
            equal &= numbers[windows + step] == self.numbers[first + step]
        return equal


def _runs(starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """The numbers start, start + 1, ... of every run, one run after another, and where each run begins among them."""
    ends = np.cumsum(sizes)
    before = ends - sizes
    return np.repeat(starts - before, sizes) + np.arange(ends[-1] if len(ends) else 0), before
