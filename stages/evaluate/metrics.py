"""Exact match, ROUGE-1 and ROUGE-L of Super-NaturalInstructions (facts 1.9), equal to the published values.

English: rouge_score's F-measure with Porter stemming. Cross-lingual: the same over GPT-2 byte-level BPE
tokens without their leading "Ġ", neither lower-cased nor stemmed. Almost all the time of the plain way goes
into tokenising and stemming, so each distinct text is tokenised once and each distinct word stemmed once;
the subsequences are found for all pairs in one call of rapidfuzz.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

from stages.prompts import gpt2_bpe

METRICS = ("exact_match", "rouge1", "rougeL")
XLINGUAL = "xlingual"

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WORD = re.compile("[a-z0-9]+")

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Scores:
    """One value from 0 to 1 for every prediction and metric; arrays of float64, all of one length."""

    exact_match: NDArray[np.float64]
    rouge1: NDArray[np.float64]
    rougeL: NDArray[np.float64]  # the metric's published name


def normalise(text: str) -> str:
    """The form that exact match compares: lower case, no ASCII punctuation, single blanks. Articles stay."""
    return " ".join(text.lower().translate(_PUNCTUATION).split())


def score(predictions: Sequence[str], references: Sequence[Sequence[str]], track: str = "default") -> Scores:
    """Scores of predictions against one or more references each, the best reference chosen for each metric.

    `track` "xlingual" takes the cross-lingual tokens, any other the English ones.
    """
    counts = [len(group) for group in references]
    if len(counts) != len(predictions) or 0 in counts:
        raise ValueError("every prediction needs at least one reference")
    if not counts:
        return Scores(*(np.zeros(0) for _ in METRICS))
    flat = [reference for group in references for reference in group]
    repeated = [text for text, count in zip(predictions, counts, strict=True) for _ in range(count)]
    starts = np.cumsum([0, *counts[:-1]])

    normal = {text: normalise(text) for text in {*flat, *predictions}}
    equal = [normal[ours] == normal[theirs] for ours, theirs in zip(repeated, flat, strict=True)]

    tokens = (bpe_ids if track == XLINGUAL else word_ids)({*flat, *predictions})
    ours, theirs = [tokens[text] for text in repeated], [tokens[text] for text in flat]
    in_order = _overlap(ours, theirs)
    # The longest common subsequence of two sorted sequences is what they share as multisets.
    arranged = {text: tuple(sorted(ids)) for text, ids in tokens.items()}
    shared = _overlap([arranged[text] for text in repeated], [arranged[text] for text in flat])
    sizes = np.array([len(ids) for ids in ours]), np.array([len(ids) for ids in theirs])
    values = (np.array(equal, dtype=np.float64), _f(shared, *sizes), _f(in_order, *sizes))
    return Scores(*(np.maximum.reduceat(of_pairs, starts) for of_pairs in values))


def _overlap(ours: list[Ids], theirs: list[Ids]) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = process.cpdist(ours, theirs, scorer=LCSseq.similarity, dtype=np.int64)
    return lengths


def _f(overlap: NDArray[np.int64], ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> NDArray[np.float64]:
    """F-measure, the operations in the published order, so that not even the last bit differs."""
    precision = overlap / np.maximum(ours, 1)
    recall = overlap / np.maximum(theirs, 1)
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros(len(total)), where=total > 0)


class _Stems:
    """A number for every word, the same for words with one stem. Words of up to three letters stay whole."""

    def __init__(self) -> None:
        # Imported here: it takes most of a second, and the cross-lingual form needs no stems.
        from nltk.stem.porter import PorterStemmer

        self._stem = PorterStemmer().stem
        self._words: dict[str, int] = {}
        self._stems: dict[str, int] = {}

    def ids(self, text: str) -> Ids:
        known, words = self._words, _WORD.findall(text.lower())
        return tuple([known[word] if word in known else self._add(word) for word in words])

    def _add(self, word: str) -> int:
        stem = self._stem(word) if len(word) > 3 else word
        number = self._words[word] = self._stems.setdefault(stem, len(self._stems))
        return number


@lru_cache(maxsize=1)
def _stems() -> _Stems:
    return _Stems()


def word_ids(texts: Iterable[str]) -> dict[str, Ids]:
    """For every text the numbers of its stemmed words; equal stems have equal numbers within this process."""
    stems = _stems()
    return {text: stems.ids(text) for text in texts}


def bpe_tokens(text: str) -> list[str]:
    """The cross-lingual tokens of a text. A lone "Ġ" becomes an empty token, which still counts."""
    return [token.lstrip("Ġ") for token in gpt2_bpe.load().encode(text, add_special_tokens=False).tokens]


@lru_cache(maxsize=1)
def _without_blank() -> list[int]:
    """For every BPE id the number of the token without its leading "Ġ"."""
    numbers: dict[str, int] = {}
    tokenizer = gpt2_bpe.load()
    tokens = (tokenizer.id_to_token(number) or "" for number in range(tokenizer.get_vocab_size()))
    return [numbers.setdefault(token.lstrip("Ġ"), len(numbers)) for token in tokens]


def bpe_ids(texts: Iterable[str]) -> dict[str, Ids]:
    """For every text the numbers of its cross-lingual tokens; equal tokens have equal numbers."""
    ordered, numbers = list(texts), _without_blank()
    encodings = gpt2_bpe.load().encode_batch_fast(ordered, add_special_tokens=False)
    return {
        text: tuple([numbers[token] for token in encoding.ids])
        for text, encoding in zip(ordered, encodings, strict=True)
    }
