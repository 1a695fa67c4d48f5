"""Lexical index: Okapi BM25 with the scores of rank_bm25's BM25Okapi, computed ahead as bm25s does.

The score of a passage is the sum over the query's words (a word counts as often as it occurs there) of

    idf * tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length)),   idf = ln((N - n + 0.5) / (n + 0.5))

with k1 = 1.5 and b = 0.75. Words in more than half of the passages, whose idf would be negative, get `epsilon` (0.25)
times the mean idf instead, which is itself negative where most words are that frequent. None of bm25s' own variants
has that idf: its "atire" term weight is the same, so the index is built with it and a positive idf, and each word's
column is then scaled by the ratio of the two.

The formula is that of rank_bm25 0.2.2 in full; scores differ from its scores by rounding alone, because terms are added
in another order. To keep that from deciding between equal scores, scores are rounded to 9 decimals here.

There are two modes, which differ in what a word is and in what is found:

words      the runs of letters, digits and underscores of the lower-cased text. Only passages that share a word with the
           query are found; equal scores in the order of the numbers.
published  what lies between two blanks, as it is: other white space and punctuation are part of a word, and between two
           blanks in a row lies the empty word. Every passage can be found, those with score 0 too; among equal scores
           the later number first (PGRA's get_data_bm25).

There is no stemming and there are no stop words; in writing without blanks between words, such as Chinese, a whole
clause is one word.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import bm25s
import numpy as np
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError
from nightjar.core.json_text import recorded
from nightjar.search.fuse import Rankings

# It logs every step, whatever the level of the rest.
logging.getLogger("bm25s").setLevel(logging.WARNING)

K1, B, EPSILON = 1.5, 0.75, 0.25
Mode = Literal["words", "published"]

_MODE = "mode.json"
_DECIMALS = 9
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words of a passage or query, in order."""
    return _WORD.findall(text.lower())


def blank_separated(text: str) -> list[str]:
    """The words of a passage or query in the mode "published", in order; the empty text has one, the empty word."""
    return text.split(" ")


_SPLIT: Mapping[str, Callable[[str], list[str]]] = {"words": words, "published": blank_separated}


class LexicalIndex:
    """Passages numbered 0, 1, 2, ... in the order they were given."""

    def __init__(self, index: bm25s.BM25, mode: Mode = "words") -> None:
        self.mode = mode
        self._index = index
        self._split = _SPLIT[mode]
        self._data: NDArray[np.float64] = index.scores["data"]
        self._numbers: NDArray[np.int32] = index.scores["indices"]
        self._starts: NDArray[np.int64] = index.scores["indptr"]
        self._vocabulary: dict[str, int] = index.vocab_dict

    def __len__(self) -> int:
        return int(self._index.scores["num_docs"])

    @classmethod
    def build(cls, texts: Iterable[str], mode: Mode = "words") -> LexicalIndex:
        """An index of `texts`. Raises NightjarError if there is no word in them."""
        split = _SPLIT[mode]
        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in split(text)] for text in texts]
        if not vocabulary:
            raise NightjarError(
                "there is no word to index", "nightjar.search", "check that the corpus is not empty"
            )
        index = bm25s.BM25(k1=K1, b=B, method="atire", idf_method="lucene", dtype="float64", backend="numpy")
        index.index((ids, vocabulary), create_empty_token=False, show_progress=False)
        found_in = np.diff(index.scores["indptr"])  # n of each word: its column has one entry a passage
        index.scores["data"] *= np.repeat(
            _okapi_idf(found_in, len(ids)) / _lucene_idf(found_in, len(ids)), found_in
        )
        return cls(index, mode)

    def scores(self, query: str) -> NDArray[np.float64]:
        """The score of every passage, shape (number of passages,); 0 where no word of the query occurs."""
        return self._score(query)[0].round(_DECIMALS)

    def search(self, queries: Sequence[str], k: int) -> Rankings:
        """The `k` best passages for each query, float64 scores; which ones, and the order of ties, is the mode's."""
        found = Rankings.empty(len(queries), k)
        for row, query in enumerate(queries):
            best, scores = self._best(query, k)
            found.ids[row, : len(best)], found.scores[row, : len(best)] = best, scores
        return found

    def _best(self, query: str, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        sums, shared = self._score(query)
        candidates = np.flatnonzero(shared)
        if self.mode == "published":
            # Of the passages with score 0, only the last can be among the best.
            candidates = np.concatenate([candidates, np.flatnonzero(~shared)[-k:]])
        scores = sums[candidates]
        if len(scores) > k:
            # All that reach the k-th best score after rounding: ties at the border are settled below.
            border = np.partition(scores, len(scores) - k)[len(scores) - k] - 2 * 10.0**-_DECIMALS
            reach = scores >= border
            candidates, scores = candidates[reach], scores[reach]
        # The same terms added up in another order give a last bit that would decide between ties.
        scores = scores.round(_DECIMALS)
        ties = -candidates if self.mode == "published" else candidates
        order = np.lexsort((ties, -scores))[:k]
        return candidates[order], scores[order]

    def _score(self, query: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The sum for every passage, not rounded, and whether it shares a word with the query."""
        shared = np.zeros(len(self), dtype=np.bool_)
        numbers, gains = [], []
        for word, count in Counter(self._split(query)).items():
            column = self._vocabulary.get(word)
            if column is not None:
                entries = slice(self._starts[column], self._starts[column + 1])
                numbers.append(self._numbers[entries])
                gains.append(self._data[entries] if count == 1 else count * self._data[entries])
                shared[numbers[-1]] = True
        if not numbers:
            return np.zeros(len(self)), shared
        sums = np.bincount(np.concatenate(numbers), np.concatenate(gains), len(self))
        return sums.astype(np.float64, copy=False), shared

    def save(self, folder: Path) -> None:
        """Write arrays and JSON files, no pickle, into `folder`; the same texts give the same bytes."""
        self._index.save(folder, allow_pickle=False, show_progress=False)
        (folder / _MODE).write_text(json.dumps({"mode": self.mode}) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> LexicalIndex:
        """Read what `save` wrote, into memory. Raises NightjarError if it is missing or unreadable."""
        try:
            index = bm25s.BM25.load(
                folder, mmap=False, allow_pickle=False, load_corpus=False, show_progress=False
            )
        except FileNotFoundError:
            raise NightjarError("no lexical index", folder, "run: nightjar rebuild index") from None
        except (ValueError, KeyError, TypeError, EOFError, json.JSONDecodeError):
            raise NightjarError("unreadable lexical index", folder, "run: nightjar rebuild index") from None
        mode: Any = recorded(folder / _MODE).get("mode")
        if mode not in get_args(Mode):
            what = "no record of how this lexical index splits texts"
            raise NightjarError(what, folder / _MODE, "run: nightjar rebuild index")
        return cls(index, mode)


def _lucene_idf(found_in: NDArray[np.int64], passages: int) -> NDArray[np.float64]:
    idf: NDArray[np.float64] = np.log(1 + (passages - found_in + 0.5) / (found_in + 0.5))
    return idf


def _okapi_idf(found_in: NDArray[np.int64], passages: int) -> NDArray[np.float64]:
    idf = np.log(passages - found_in + 0.5) - np.log(found_in + 0.5)
    mean = idf.mean()  # over the vocabulary, with the negative ones in it
    return np.where(idf < 0, EPSILON * mean, idf)
