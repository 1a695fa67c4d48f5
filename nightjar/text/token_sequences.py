"""Tokens of many texts at once, as numbers: what ROUGE compares (Tk-Instruct's compute_metrics.py).

Nearly all the time of the plain way goes into cutting texts and stemming words one by one. Here the bytes of
all texts are cut together, equal words found by Arrow, and each distinct word stemmed once.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nightjar.prompts import gpt2_bpe
from nightjar.text.porter import stem

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Words of up to three letters are not stemmed.
_UNSTEMMED = 3
_KEPT = b"abcdefghijklmnopqrstuvwxyz0123456789"
_TO_BLANK = bytes(code if code in _KEPT else ord(" ") for code in range(256))
# Numbers that fit a character: the sequences can then be compared as texts, which rapidfuzz does fastest.
_CHARACTERS = 0x110000


@lru_cache(maxsize=1_000_000)
def _stem(word: str) -> str:
    """The stem, kept from chunk to chunk."""
    return stem(word) if len(word) > _UNSTEMMED else word


Sequences = list[str] | list[tuple[int, ...]]


@dataclass(frozen=True)
class TokenSequences:
    """Texts as sequences of numbers; equal numbers mean equal tokens among the texts cut together.

    `ids` holds the numbers of all texts one after another, `ends` where each text begins and ends in it (one
    more than there are texts).
    """

    ids: NDArray[np.int64]
    ends: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of tokens of every text."""
        return np.diff(self.ends)

    def sequences(self) -> Sequences:
        """A sequence a text that rapidfuzz compares, in the order of its tokens."""
        return _sequences(self.ids, self.ends)

    def sorted_sequences(self, selected: NDArray[np.bool_]) -> Sequences:
        """The same with every text's tokens in the order of their numbers; empty where a text is not selected."""
        sizes = np.where(selected, self.sizes, 0)
        texts = np.repeat(np.arange(len(sizes)), sizes)
        ids = self.ids[np.repeat(selected, self.sizes)]
        width = int(ids.max(initial=0)) + 1
        return _sequences(np.sort(texts * width + ids) - texts * width, _bounds(sizes))


def words(texts: Sequence[str]) -> TokenSequences:
    """The stemmed words of the English track: runs of a-z and 0-9 of the lower-cased texts.

    Quickest where the texts that are ASCII come first: those keep their lengths in lower case and as bytes.
    """
    head = list(itertools.takewhile(str.isascii, texts))
    pieces = [text.lower().encode("utf-8", "surrogatepass") for text in texts[len(head) :]]
    lengths = np.fromiter(map(len, itertools.chain(head, pieces)), np.int64, len(texts))
    plain = b" ".join([" ".join(["", *head]).lower().encode(), *pieces, b""]).translate(_TO_BLANK)
    in_word = np.frombuffer(plain, np.uint8) != ord(" ")
    edges = np.flatnonzero(in_word[1:] != in_word[:-1])  # by turns where a word begins and where it ends
    first, last = edges[::2], edges[1::2]
    ends = np.searchsorted(first, _bounds(lengths + 1))
    # The words without the blanks between them are the body of an Arrow array; where they end, its offsets.
    packed = plain.translate(None, b" ")
    offsets = _bounds(last - first)
    column = pa.LargeStringArray.from_buffers(len(first), pa.py_buffer(offsets), pa.py_buffer(packed))
    coded = column.dictionary_encode()
    stemmed, _ = numbered(map(_stem, coded.dictionary.to_pylist()), len(coded.dictionary))
    ids = stemmed[np.frombuffer(coded.indices.buffers()[1], np.int32, len(first))]
    return TokenSequences(ids, ends)


def numbered(texts: Iterable[str], count: int) -> tuple[NDArray[np.int64], list[str]]:
    """For each of `count` texts the number of its first occurrence among the distinct ones, and these."""
    numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)  # a first look-up numbers a text
    text_numbers = np.fromiter(map(numbers.__getitem__, texts), np.int64, count)
    return text_numbers, list(numbers)


def _gpt2() -> Tokenizer:
    return gpt2_bpe.load()


def bpe(texts: Sequence[str]) -> TokenSequences:
    """The GPT-2 tokens of the cross-lingual track, without their leading "Ġ"."""
    encodings = _gpt2().encode_batch_fast(list(texts), add_special_tokens=False)
    sizes = [len(encoding.ids) for encoding in encodings]
    flat = [token for encoding in encodings for token in encoding.ids]
    return TokenSequences(_without_blank()[np.array(flat, np.int64)], _bounds(np.array(sizes, np.int64)))


@lru_cache(maxsize=1)
def _without_blank() -> NDArray[np.int64]:
    """For every BPE id the number of the token without its leading "Ġ"."""
    numbers: dict[str, int] = {}
    tokenizer = _gpt2()
    tokens = (tokenizer.id_to_token(number) or "" for number in range(tokenizer.get_vocab_size()))
    return np.array([numbers.setdefault(token.lstrip("Ġ"), len(numbers)) for token in tokens], np.int64)


def _bounds(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bounds of pieces of these sizes that follow one another."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _sequences(ids: NDArray[np.int64], ends: NDArray[np.int64]) -> Sequences:
    bounds = ends.tolist()
    if ids.max(initial=0) >= _CHARACTERS:
        plain = ids.tolist()
        return [tuple(plain[a:b]) for a, b in itertools.pairwise(bounds)]
    text = ids.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return [text[a:b] for a, b in itertools.pairwise(bounds)]
