"""Lexical index: Okapi BM25 with the scores of rank_bm25's BM25Okapi, computed ahead and mapped from disk.

The score of a passage is the sum over the query's words (a word counts as often as it occurs there) of

    idf * tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length)),   idf = ln((N - n + 0.5) / (n + 0.5))

with k1 = 1.5 and b = 0.75. Words in more than half of the passages, whose idf would be negative, get `epsilon` (0.25)
times the mean idf instead, which is itself negative where most words are that frequent.

The formula is that of rank_bm25 0.2.2 in full; scores differ from its scores by rounding alone, because terms are added
in another order. To keep that from deciding between equal scores, scores are rounded to 9 decimals here.

There are two modes, which differ in what a word is and in what is found:

words      the runs of letters, digits, underscores and marks of the lower-cased text in NFC (`search.words`). Only
           passages that share a word with the query are found; equal scores in the order of the numbers.
published  what lies between two blanks, as it is: other white space and punctuation are part of a word, and between two
           blanks in a row lies the empty word. Every passage can be found, those with score 0 too; among equal scores
           the later number first (PGRA's get_data_bm25).

There is no stemming and there are no stop words; in writing without blanks between words, such as Chinese and Thai, a
whole clause is one word.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nightjar.core.arguments import AnyPath, check_count, check_list
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import recorded
from nightjar.search.postings import Postings
from nightjar.search.rankings import Rankings
from nightjar.search.words import words

K1, B, EPSILON = 1.5, 0.75, 0.25
# Words in at least one of so many passages are kept as rows: adding one is faster than adding its entries, and it can
# be left out of all passages but those that it may bring among the best.
OFTEN = 8
# Passages that are scored at a time: their sums stay in a processor's cache, and the best of some bound the next.
WINDOW = 131_072
# Words that are in many passages are added to single passages where these are fewer than one of so many.
FEW = 16
Mode = Literal["words", "published"]

# The mode, the number of passages, and a digest of the texts: with the passages, it identifies the index.
RECORD = "mode.json"
_DECIMALS = 9
# More than rounding changes the difference of two scores by.
_MARGIN = 2 * 10.0**-_DECIMALS
_AGAIN = "run: nightjar rebuild index"


def blank_separated(text: str) -> list[str]:
    """The words of a passage or query in the mode "published", in order; the empty text has one, the empty word."""
    return text.split(" ")


_SPLIT: Mapping[str, Callable[[str], list[str]]] = {"words": words, "published": blank_separated}


class _Arrays(NamedTuple):
    """The arrays of an index, each in a file of its name.

    words, word_starts  the words in the order in which they first occur, UTF-8, and where each begins and the last ends
    keys, columns       CRC-32 of the words, sorted, and the numbers of these words
    starts              where the entries of each word begin, and the last end
    numbers, gains      of each entry, the number of the passage and what the word adds to its score
    often               the numbers of the words in at least 1 / OFTEN of the passages, which have no entries
    rows, tops          what each of these adds to the scores of all passages, shape (words, passages), and its maximum
    """

    words: NDArray[np.uint8]
    word_starts: NDArray[np.int64]
    keys: NDArray[np.uint32]
    columns: NDArray[np.int32]
    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]
    gains: NDArray[np.float64]
    often: NDArray[np.int32]
    rows: NDArray[np.float64]
    tops: NDArray[np.float64]


_TYPES = tuple(map(np.dtype, ("u1", "<i8", "<u4", "<i4", "<i8", "<i4", "<f8", "<i4", "<f8", "<f8")))


class _Word(NamedTuple):
    """A word of a query: how often it counts, its passages and what it adds to their scores, or (`numbers` is None)
    what it adds to the scores of all and the most that it adds to any when it counts once.
    """

    times: int
    numbers: NDArray[np.int32] | None
    gains: NDArray[np.float64]
    top: float = 0.0

    def cuts(self, firsts: list[int]) -> list[int]:
        """The places in `gains` of these passages, or where they would be."""
        if self.numbers is None:
            return firsts
        if len(firsts) == 2:
            return [0, len(self.numbers)]
        places: list[int] = self.numbers.searchsorted(np.array(firsts, np.int32)).tolist()
        return places

    def added(self, places: slice | NDArray[np.int64]) -> NDArray[np.float64]:
        """Gains at these places, times the count of the word in the query."""
        return self.gains[places] if self.times == 1 else self.times * self.gains[places]


class LexicalIndex:
    """Passages numbered 0, 1, 2, ... in the order they were given. Made by `build`, or by `write` and `load`."""

    def __init__(self, arrays: _Arrays, record: Mapping[str, Any]) -> None:
        self.mode: Mode = record["mode"]
        self._arrays, self._record, self._split = arrays, record, _SPLIT[self.mode]
        self._often = {column: row for row, column in enumerate(arrays.often.tolist())}
        # Queries have many words in common.
        self._word = lru_cache(10_000)(self._look_up)

    def __len__(self) -> int:
        return int(self._record["passages"])

    @classmethod
    def build(cls, texts: Iterable[str], mode: Mode = "words") -> LexicalIndex:
        """An index of `texts` in memory."""
        check_list(texts, "texts")
        with tempfile.TemporaryDirectory() as folder:
            cls.write(texts, folder, mode)
            return cls._read(Path(folder), mapped=False)

    @classmethod
    def write(cls, texts: Iterable[str], folder: AnyPath, mode: Mode = "words") -> None:
        """Write an index of `texts` into `folder`: arrays and a JSON file, no pickle; the same texts, the same bytes.

        Memory is needed for the different words, for 4 bytes a passage and for blocks of fixed size: the texts may be
        far larger than memory.
        """
        folder = Path(folder)
        if mode not in _SPLIT:
            raise NightjarError(f"no mode {mode!r}", "mode", f"give one of {', '.join(_SPLIT)}")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as runs:
            digest = hashlib.sha256()
            postings = Postings((_SPLIT[mode](_read_into(digest, text)) for text in texts), Path(runs))
            if not postings.vocabulary:
                raise NightjarError(
                    "there is no word to index", "nightjar.search", "check that the corpus is not empty"
                )
            _write(folder, postings)
        record = {"mode": mode, "passages": len(postings.lengths), "texts": digest.hexdigest()}
        (folder / RECORD).write_text(json.dumps(record) + "\n", encoding="utf-8")

    def search(self, queries: Sequence[str], k: int) -> Rankings:
        """The `k` best passages for each query, float64 scores; which ones, and the order of ties, is the mode's."""
        check_list(queries, "queries")
        check_count(k, "k")
        rankings = Rankings.empty(len(queries), k)
        sums = np.empty(min(len(self), WINDOW))
        for row, query in enumerate(queries):
            candidates, scores = self._candidates(self._words(query), k, sums)
            # The same terms added up in another order give a last bit that would decide between ties.
            scores = scores.round(_DECIMALS)
            order = np.lexsort((-candidates if self.mode == "published" else candidates, -scores))[:k]
            rankings.ids[row, : len(order)], rankings.scores[row, : len(order)] = (
                candidates[order],
                scores[order],
            )
        return rankings

    def _candidates(
        self, words: list[_Word], k: int, sums: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Passages among which are the `k` best, and their sums, not rounded; `sums` is overwritten."""
        firsts = range(0, len(self), WINDOW)
        cuts = [word.cuts([*firsts, len(self)]) for word in words]
        often = [number for number, word in enumerate(words) if word.numbers is None]
        tops = [words[number].times * words[number].top for number in often]
        # What these words add at most, where none of them takes away.
        often_bound = sum(tops) if min(tops, default=1) > 0 else np.inf
        candidates, scores = np.empty(0, np.int64), np.empty(0)
        border = 0.0  # where it is above 0, at least `k` passages reach it
        for window, first in enumerate(firsts):
            parts = [slice(cut[window], cut[window + 1]) for cut in cuts]
            window_sums = sums[: len(self) - first]
            window_sums.fill(0)
            for word, part in zip(words, parts, strict=True):
                if word.numbers is not None and part.start < part.stop:
                    numbers = word.numbers[part]
                    np.add.at(window_sums, numbers - first if first else numbers, word.added(part))
            if not border and often_bound < np.inf:
                border = max(0.0, _reached(window_sums, k) - _MARGIN)
            window_places = (
                np.flatnonzero(window_sums >= border - often_bound) if border > often_bound else None
            )
            if window_places is not None and len(window_places) * FEW < len(window_sums):
                for number in often:
                    window_sums[window_places] += words[number].added(first + window_places)
            else:
                for number in often:
                    window_sums += words[number].added(parts[number])
                border = max(border, _reached(window_sums, k) - _MARGIN)
                if border:
                    window_places = np.flatnonzero(window_sums >= border)
                else:
                    window_places = self._sharing(words, parts, first, window_sums, k)
            candidates = np.append(candidates, first + window_places)
            scores = np.append(scores, window_sums[window_places])
            if len(scores) > k:
                border = max(border, float(np.partition(scores, len(scores) - k)[len(scores) - k]) - _MARGIN)
                if border:
                    best = scores >= border
                    candidates, scores = candidates[best], scores[best]
        return candidates, scores

    def _sharing(
        self, words: list[_Word], parts: list[slice], first: int, window_sums: NDArray[np.float64], k: int
    ) -> NDArray[np.int64]:
        """The passages of a window that share a word, and of the others those that may be among the best `k`."""
        shared = np.zeros(len(window_sums), np.bool_)
        for word, part in zip(words, parts, strict=True):
            if word.numbers is None:
                shared |= word.gains[part] != 0
            else:
                shared[word.numbers[part] - first] = True
        shared_places = np.flatnonzero(shared)
        # Of the passages with score 0, only the last can be among the best.
        return (
            np.append(shared_places, np.flatnonzero(~shared)[-k:])
            if self.mode == "published"
            else shared_places
        )

    def _words(self, query: str) -> list[_Word]:
        """The words of the query that occur."""
        counts = Counter(self._split(query))
        return [
            indexed._replace(times=count) if count > 1 else indexed
            for word, count in counts.items()
            if (indexed := self._word(word))
        ]

    def _look_up(self, word: str) -> _Word | None:
        """The word, counted once, or None if it does not occur."""
        arrays, coded = self._arrays, _coded(word)
        key = zlib.crc32(coded)
        place = int(arrays.keys.searchsorted(np.uint32(key)))
        while place < len(arrays.keys) and arrays.keys[place] == key:
            column = int(arrays.columns[place])
            if arrays.words[arrays.word_starts[column] : arrays.word_starts[column + 1]].tobytes() == coded:
                if (row := self._often.get(column)) is not None:
                    return _Word(1, None, arrays.rows[row], float(arrays.tops[row]))
                entries = slice(arrays.starts[column], arrays.starts[column + 1])
                return _Word(1, arrays.numbers[entries], arrays.gains[entries])
            place += 1
        return None

    @classmethod
    def load(cls, folder: AnyPath) -> LexicalIndex:
        """Map what `write` wrote into memory."""
        return cls._read(Path(folder), mapped=True)

    @classmethod
    def _read(cls, folder: Path, mapped: bool) -> LexicalIndex:
        try:
            arrays = _Arrays(
                *(
                    # A view of the base class: slices of a memmap take several times as long.
                    np.load(folder / f"{name}.npy", "r" if mapped else None, allow_pickle=False).view(
                        np.ndarray
                    )
                    for name in _Arrays._fields
                )
            )
        except FileNotFoundError:
            raise NightjarError("no lexical index", folder, _AGAIN) from None
        except (ValueError, EOFError, OSError):
            raise NightjarError("unreadable lexical index", folder, _AGAIN) from None
        record = recorded(folder / RECORD)
        mode, passages = record.get("mode"), record.get("passages")
        if mode not in _SPLIT or not isinstance(passages, int):
            what = "no record of how this lexical index splits texts"
            raise NightjarError(what, folder / RECORD, _AGAIN)
        count, often = len(arrays.keys), len(arrays.often)
        letters, entries = arrays.word_starts[-1:].sum(), arrays.starts[-1:].sum()
        vocabulary = (letters,), (count + 1,), (count,), (count,)
        shapes = (*vocabulary, (count + 1,), (entries,), (entries,), (often,), (often, passages), (often,))
        expected = list(zip(shapes, _TYPES, strict=True))
        if [(array.shape, array.dtype) for array in map(np.asarray, arrays)] != expected:
            raise NightjarError("unreadable lexical index", folder, _AGAIN)
        return cls(arrays, record)


def _reached(sums: NDArray[np.float64], k: int) -> float:
    """A number that at least `k` of `sums` reach, and not many more: the k-th highest of the maxima of groups."""
    if len(sums) <= k:
        return -np.inf
    groups = len(sums) // max(1, min(64, len(sums) // (8 * k)))
    highest = sums[: len(sums) // groups * groups].reshape(-1, groups).max(axis=0)
    return float(np.partition(highest, groups - k)[groups - k])


def _type(name: str) -> np.dtype[Any]:
    return _TYPES[_Arrays._fields.index(name)]


def _coded(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


def _read_into(digest: Any, text: str) -> str:
    """The text, whose bytes and end are added to the digest."""
    digest.update(_coded(text) + b"\0")
    return text


def _write(folder: Path, postings: Postings) -> None:
    """Write the arrays of an index into `folder`."""

    def save(name: str, values: Any) -> None:
        np.save(folder / f"{name}.npy", np.asarray(values, _type(name)))

    def create(name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.lib.format.open_memmap(folder / f"{name}.npy", "w+", _type(name), shape)

    def ends(sizes: Any) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    coded = [_coded(word) for word in postings.vocabulary]
    save("words", np.frombuffer(b"".join(coded), np.uint8))
    save("word_starts", ends([len(word) for word in coded]))
    keys = np.array([zlib.crc32(word) for word in coded], np.uint32)
    order = np.argsort(keys, kind="stable")
    save("keys", keys[order])
    save("columns", order)
    passages = len(postings.lengths)
    idf = _idf(postings.found_in, passages)
    # Where the idf is 0, a row would not show which passages have the word.
    often = np.flatnonzero((postings.found_in * OFTEN >= passages) & (idf != 0))
    save("often", often)
    row_of = {column: row for row, column in enumerate(often.tolist())}
    rows = create("rows", (len(often), passages))
    sizes = postings.found_in.copy()
    sizes[often] = 0
    starts = ends(sizes)
    save("starts", starts)
    numbers, gains = create("numbers", (int(starts[-1]),)), create("gains", (int(starts[-1]),))
    norms = K1 * (1 - B + B * postings.lengths / postings.lengths.mean())
    for part in postings:
        entry_idf = np.repeat(idf[part.first : part.last], part.found_in)
        added = entry_idf * part.times * (K1 + 1) / (part.times + norms[part.texts])
        sparse = np.repeat(sizes[part.first : part.last] > 0, part.found_in)
        part_slice = slice(starts[part.first], starts[part.last])
        numbers[part_slice], gains[part_slice] = part.texts[sparse], added[sparse]
        begins = ends(part.found_in)
        for column in often[(often >= part.first) & (often < part.last)].tolist():
            entries = slice(begins[column - part.first], begins[column - part.first + 1])
            rows[row_of[column], part.texts[entries]] = added[entries]
    save("tops", [row.max() for row in rows])


def _idf(found_in: NDArray[np.int64], passages: int) -> NDArray[np.float64]:
    idf = np.log(passages - found_in + 0.5) - np.log(found_in + 0.5)
    mean = idf.mean()  # over the vocabulary, with the negative ones in it
    return np.where(idf < 0, EPSILON * mean, idf)
