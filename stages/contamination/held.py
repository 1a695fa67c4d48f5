"""The test side: its texts, their n-grams, and where each was first met among the training texts of a side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stages.contamination.ngrams import Grams
from stages.contamination.words import Ints, words

PARTS = ("input", "reference")
# A text counts as found for the most part when so much of its n-grams is (published for 8-grams: 70%).
MOST = 0.7


@dataclass(frozen=True)
class Source:
    """A training text: the task (None for a document), the id, and which of its texts (input, output, text)."""

    task_id: str | None
    id: str
    part: str


@dataclass(frozen=True)
class Overlap:
    """What a part of a test instance has in common with a side: `matched` of its `ngrams`, the first of them, and where
    that was met first. A text of fewer words than an n-gram is of the kind `whole`: it equals a training text."""

    row: int
    part: str
    side: str
    kind: str
    ngrams: int
    matched: int
    text: str
    source: Source

    @property
    def mostly(self) -> bool:
        return self.kind == "whole" or self.matched >= MOST * self.ngrams


@dataclass
class _Met:
    """Where the n-grams, and the short texts, were met first on one side, by their numbers."""

    grams: dict[int, Source] = field(default_factory=dict)
    short: dict[int, Source] = field(default_factory=dict)


class Held:
    """The texts of test instances, against which the training texts are held batch by batch."""

    def __init__(self, inputs: pa.Array, references: pa.ListArray, n: int) -> None:
        self.n = n
        parents = pc.list_parent_indices(references).to_numpy(zero_copy_only=False).astype(np.int64)
        self.rows: Ints = np.concatenate([np.arange(len(inputs)), parents])
        self.parts = np.concatenate([np.zeros(len(inputs), np.int8), np.ones(len(parents), np.int8)])
        self.words = words(pa.concat_arrays([inputs, pc.list_flatten(references)]))
        self.grams = Grams(self.words, n)
        self.short_texts: Ints = np.flatnonzero((self.words.lengths < n) & (self.words.lengths > 0))
        self.short = self.words.joined(self.short_texts).dictionary_encode()
        self.met: dict[str, _Met] = {}

    def add(self, side: str, texts: pa.Array, sources: Any) -> None:
        """Hold training texts against the test side; `sources(number)` tells the Source of a text."""
        met = self.met.setdefault(side, _Met())
        given = words(texts)
        hits = self.grams.find(given)
        self._remember(met.grams, hits.grams, hits.texts, sources)
        short = np.flatnonzero((given.lengths < self.n) & (given.lengths > 0))
        if len(short) and len(self.short):
            found = pc.index_in(given.joined(short), value_set=self.short.dictionary)
            places = pc.fill_null(found, -1).to_numpy(zero_copy_only=False)
            self._remember(met.short, places[places >= 0], short[places >= 0], sources)

    @staticmethod
    def _remember(known: dict[int, Source], numbers: Ints, texts: Ints, sources: Any) -> None:
        distinct, first = np.unique(numbers, return_index=True)
        for number, place in zip(distinct.tolist(), first.tolist(), strict=True):
            if number not in known:
                known[number] = sources(int(texts[place]))

    def overlaps(self) -> list[Overlap]:
        """Every test instance's part that has something in common with a side, in the order of the instances."""
        found = [
            overlap
            for side, met in self.met.items()
            for overlap in (*self._by_grams(side, met), *self._by_short(side, met))
        ]
        best: dict[tuple[int, str, str], Overlap] = {}
        for overlap in found:  # n-grams come first and say more than a short reference beside them
            best.setdefault((overlap.row, overlap.part, overlap.side), overlap)
        return [best[key] for key in sorted(best)]

    def _by_grams(self, side: str, met: _Met) -> list[Overlap]:
        groups = self.rows[self.grams.texts] * len(PARTS) + self.parts[self.grams.texts]
        size = len(PARTS) * (int(self.rows.max(initial=-1)) + 1)
        hit = np.zeros(len(self.grams), np.bool_)
        hit[list(met.grams)] = True
        matches = hit[self.grams.which]
        ngrams = np.bincount(groups, minlength=size)
        matched = np.bincount(groups[matches], minlength=size)
        seen, first = np.unique(groups[matches], return_index=True)
        windows = np.flatnonzero(matches)[first]
        found = []
        for group, window in zip(seen.tolist(), windows.tolist(), strict=True):
            start = int(self.grams.windows[window])
            text = " ".join(self.words.flat.slice(start, self.n).to_pylist())
            source = met.grams[int(self.grams.which[window])]
            row, part = divmod(group, len(PARTS))
            counts = int(ngrams[group]), int(matched[group])
            found.append(Overlap(row, PARTS[part], side, "ngram", *counts, text, source))
        return found

    def _by_short(self, side: str, met: _Met) -> list[Overlap]:
        found = []
        for text, number in zip(self.short_texts.tolist(), self.short.indices.to_pylist(), strict=True):
            if number in met.short:
                row, part = int(self.rows[text]), PARTS[int(self.parts[text])]
                words_of = self.short.dictionary[number].as_py()
                found.append(Overlap(row, part, side, "whole", 0, 0, words_of, met.short[number]))
        return found
