"""The test side: its texts, their n-grams, and where each was first met among the training texts of a side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stages.contamination.ngrams import Grams, Ints, Numbered, words

PARTS = ("input", "reference")
# A text counts as found for the most part when so much of its n-grams is (published for 8-grams: 70%).
MOST = 0.7
# A question of so many words, and fewer than an n-gram, is looked for as a whole inside longer texts too.
SHORTEST = 5


@dataclass(frozen=True)
class TrainingText:
    """A training text: the task (None for a document), the id, and which of its texts (input, output, text)."""

    task_id: str | None
    id: str
    part: str


@dataclass(frozen=True)
class Overlap:
    """Words that a part of a test question shares with a side: `matched` of its `ngrams`, the first of them, and where
    that was met first. An input of fewer words than an n-gram, but SHORTEST or more, is of the kind `whole`: it is in a
    training text. Other short texts are of the kind `short`: they equal a training text, and are most often labels.
    """

    row: int
    part: str
    side: str
    kind: str
    ngrams: int
    matched: int
    text: str
    source: TrainingText

    @property
    def mostly(self) -> bool:
        return self.kind == "whole" or self.matched >= MOST * self.ngrams


# Where the runs of words of each length, and the short texts (length 0), were met first on one side.
Met = dict[int, dict[int, TrainingText]]


class OverlapFinder:
    """The texts of test questions, with which training texts are compared batch by batch.

    A row may have several inputs and several references. `n` is the length of an n-gram in words.
    """

    def __init__(
        self, inputs: pa.ListArray, references: pa.ListArray, n: int, shortest: int = SHORTEST
    ) -> None:
        self.n = n
        parents = [pc.list_parent_indices(it).to_numpy(zero_copy_only=False) for it in (inputs, references)]
        self.rows: Ints = np.concatenate(parents).astype(np.int64)
        self.parts = np.repeat(np.arange(2), [len(it) for it in parents])
        self.words = words(pa.concat_arrays([pc.list_flatten(inputs), pc.list_flatten(references)]))
        self.vocabulary: pa.Array = pc.unique(self.words.flat)
        lengths, numbered = self.words.lengths, Numbered(self.words, self.vocabulary)
        # Runs of n words of the longer texts, and the shorter inputs as a whole.
        short = (lengths < n) & (lengths >= shortest) & (self.parts == 0)
        self.grams = {n: Grams(numbered, lengths >= n, n)}
        for length in np.unique(lengths[short]).tolist():
            self.grams[length] = Grams(numbered, short & (lengths == length), length)
        self.short_texts: Ints = np.flatnonzero((lengths < n) & (lengths > 0))
        self.short = self.words.joined(self.short_texts).dictionary_encode()
        self.met: dict[str, Met] = {}

    def add(self, side: str, texts: pa.Array, sources: Any) -> None:
        """Compare training texts with the test side; `sources(number)` gives the `TrainingText` of a number."""
        met = self.met.setdefault(side, {})
        split = words(texts)
        numbered = Numbered(split, self.vocabulary)
        for length, grams in self.grams.items():
            hits = grams.find(numbered)
            self._record(met.setdefault(length, {}), hits.grams, hits.texts, sources)
        short = np.flatnonzero((split.lengths < self.n) & (split.lengths > 0))
        if len(short) and len(self.short):
            dictionary_places = pc.index_in(split.joined(short), value_set=self.short.dictionary)
            places = pc.fill_null(dictionary_places, -1).to_numpy(zero_copy_only=False)
            self._record(met.setdefault(0, {}), places[places >= 0], short[places >= 0], sources)

    @staticmethod
    def _record(first_sources: dict[int, TrainingText], numbers: Ints, texts: Ints, sources: Any) -> None:
        distinct, first = np.unique(numbers, return_index=True)
        for number, place in zip(distinct.tolist(), first.tolist(), strict=True):
            if number not in first_sources:
                first_sources[number] = sources(int(texts[place]))

    def overlaps(self) -> list[Overlap]:
        """Every test question's part that has something in common with a side, in the order of the questions."""
        all_overlaps = [
            overlap
            for side, met in self.met.items()
            for overlap in (*self._by_grams(side, met), *self._inside(side, met), *self._by_short(side, met))
        ]
        best: dict[tuple[int, str, str], Overlap] = {}
        for overlap in all_overlaps:  # n-grams come first and say more than a short text beside them
            best.setdefault((overlap.row, overlap.part, overlap.side), overlap)
        return [best[key] for key in sorted(best)]

    def _by_grams(self, side: str, met: Met) -> list[Overlap]:
        grams, first_sources = self.grams[self.n], met.get(self.n, {})
        groups = self.rows[grams.texts] * len(PARTS) + self.parts[grams.texts]
        size = len(PARTS) * (int(self.rows.max(initial=-1)) + 1)
        hit = np.zeros(len(grams), np.bool_)
        hit[list(first_sources)] = True
        matches = hit[grams.which]
        ngrams = np.bincount(groups, minlength=size)
        matched = np.bincount(groups[matches], minlength=size)
        matched_groups, first = np.unique(groups[matches], return_index=True)
        windows = np.flatnonzero(matches)[first]
        gram_overlaps = []
        for group, window in zip(matched_groups.tolist(), windows.tolist(), strict=True):
            start = int(grams.windows[window])
            text = " ".join(self.words.flat.slice(start, self.n).to_pylist())
            source = first_sources[int(grams.which[window])]
            row, part = divmod(group, len(PARTS))
            counts = int(ngrams[group]), int(matched[group])
            gram_overlaps.append(Overlap(row, PARTS[part], side, "ngram", *counts, text, source))
        return gram_overlaps

    def _inside(self, side: str, met: Met) -> list[Overlap]:
        """Inputs shorter than an n-gram that are in a text of the side as a whole."""
        inner_overlaps = []
        for length, grams in self.grams.items():
            first_sources = met.get(length, {}) if length != self.n else {}
            for window in np.flatnonzero(np.isin(grams.which, list(first_sources))).tolist():
                row, start = int(self.rows[grams.texts[window]]), int(grams.windows[window])
                text = " ".join(self.words.flat.slice(start, length).to_pylist())
                source = first_sources[int(grams.which[window])]
                inner_overlaps.append(Overlap(row, PARTS[0], side, "whole", 0, 0, text, source))
        return inner_overlaps

    def _by_short(self, side: str, met: Met) -> list[Overlap]:
        first_sources, short_overlaps = met.get(0, {}), []
        for text, number in zip(self.short_texts.tolist(), self.short.indices.to_pylist(), strict=True):
            if number in first_sources:
                row, part = int(self.rows[text]), PARTS[int(self.parts[text])]
                words_of = self.short.dictionary[number].as_py()
                short_overlaps.append(
                    Overlap(row, part, side, "short", 0, 0, words_of, first_sources[number])
                )
        return short_overlaps
