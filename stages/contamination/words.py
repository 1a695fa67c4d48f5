"""Texts as words: lower-cased, without punctuation and symbols, cut at white space, as published for n-gram overlap.

A script without spaces between words gives long "words": there only texts as a whole can be found.
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
    bare = pc.replace_substring_regex(pc.utf8_lower(texts), pattern=r"[\p{P}\p{S}]+", replacement="")
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
