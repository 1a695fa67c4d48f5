"""A retriever over the artifact of the index stage: dense, bm25, or hybrid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nightjar.core.contracts import PASSAGES
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read
from nightjar.search.encoders import identity, load_encoder
from nightjar.search.lexical import LexicalIndex
from nightjar.search.rankings import Rankings, reciprocal_rank
from stages.retrieve.overlap import Corpus, Overlaps

# How far down the rankings are read, at least: hybrid fuses so much of both.
DEPTH = 100
# Passages of the texts themselves for which all rankings are read further; with more, a ranking is searched again.
_FEW = 8


class Found(NamedTuple):
    """The rankings of some texts, the number of pairs of a text and a passage that were left out, and the passages that
    are equal to a text.
    """

    rankings: Rankings
    left_out: int
    equal: NDArray[np.int64]


class Retriever:
    """Ranks passages for texts.

    `kind`: "dense" scores by inner product, "bm25" by Okapi BM25, "hybrid" fuses the best DEPTH (or more, if more
    are wanted) of both by reciprocal rank. Raises NightjarError if a part of the index or the encoder is
    missing, damaged, or does not fit the rest.
    """

    def __init__(self, index: Path, encoder: Path, kind: str, threads: int = 1) -> None:
        self.kind = kind
        self.passages = read(index, PASSAGES, ["passage", "document_id", "title", "text"])
        parts: list[Any] = []
        if kind in ("dense", "hybrid"):
            # Only here: faiss and torch take seconds to load.
            from nightjar.search.dense import DenseIndex

            self._encoder = load_encoder(encoder, threads)
            self._dense = DenseIndex.load(index / "dense", identity(self._encoder), threads)
            parts.append(self._dense)
        if kind in ("bm25", "hybrid"):
            self._lexical = LexicalIndex.load(index / "lexical")
            parts.append(self._lexical)
        if {len(part) for part in parts} != {len(self.passages)}:
            raise NightjarError("passages and index do not match", index, "run: nightjar rebuild index")

    def rank(self, texts: Sequence[str], k: int, beside: float = 0) -> Found:
        """The `k` best passages for each text, best first; fewer if fewer are there or share a word (bm25).

        A passage that the text itself contains adds nothing to it and is left out: a corpus of training inputs holds
        the very inputs that are looked up. A passage that contains the text and at most `beside` words more is left out
        too: they may be the answer. Both compare words in lower case (`overlap`). A text that occurs several times is
        looked up once. The rankings have at most `k` columns.
        """
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        unique = list(places)
        own = self._corpus.overlaps(unique, beside)
        counts = np.bincount(own.queries, minlength=len(unique))
        depth = max(k + min(int(counts.max(initial=0)), _FEW), DEPTH if self.kind == "hybrid" else 1)
        found = self._rank(unique, np.arange(len(unique)), k, depth, own)
        rows = np.array([places[text] for text in texts], np.int64)
        equal = np.unique(own.passages[own.equal])
        return Found(Rankings(found.ids[rows], found.scores[rows]), len(own.queries), equal)

    def rows(self, numbers: NDArray[np.int64]) -> pa.Table:
        """The passages of these numbers: passage, document_id, title, text."""
        return self.passages.take(pa.array(numbers))

    @cached_property
    def _corpus(self) -> Corpus:
        return Corpus(self.passages["text"])

    def _rank(
        self, texts: Sequence[str], numbers: NDArray[np.int64], k: int, depth: int, own: Overlaps
    ) -> Rankings:
        """The rankings of the texts of these numbers in `own`, without their own passages."""
        depth = min(depth, len(self.passages))
        found = self._search(texts, depth)
        ranked = found.ids >= 0
        kept = ranked & ~self._own(found.ids, numbers, own)
        # The others move up; most rankings have none of their own passages.
        rows = np.flatnonzero((kept != ranked).any(axis=1))
        order = np.argsort(~kept[rows], axis=1, kind="stable")
        for values, nothing in ((found.ids, -1), (found.scores, -np.inf)):
            chosen = np.where(kept[rows], values[rows], nothing)
            values[rows] = np.take_along_axis(chosen, order, axis=1)
        best = Rankings(found.ids[:, :k], found.scores[:, :k])
        # A long text may fill the whole depth with its own passages: search further down for it alone.
        short = np.flatnonzero((kept.sum(axis=1) < k) & (ranked.sum(axis=1) >= depth))
        if depth < len(self.passages) and len(short):
            deeper = self._rank([texts[row] for row in short.tolist()], numbers[short], k, 4 * depth, own)
            width = deeper.ids.shape[1]
            if width > best.ids.shape[1]:
                best = _widened(best, width)
            best.ids[short, :width], best.scores[short, :width] = deeper.ids, deeper.scores
        return best

    def _search(self, texts: Sequence[str], depth: int) -> Rankings:
        found = []
        if self.kind in ("dense", "hybrid"):
            found.append(self._dense.search(self._encoder.encode(texts), depth))
        if self.kind in ("bm25", "hybrid"):
            found.append(self._lexical.search(texts, depth))
        return reciprocal_rank(found) if self.kind == "hybrid" else found[0]

    def _own(self, ids: NDArray[np.int64], numbers: NDArray[np.int64], own: Overlaps) -> NDArray[np.bool_]:
        """Which of `ids`, a row for each text, are the texts' own passages."""
        count = len(self.passages)
        keys = own.queries * count + own.passages
        if not len(keys):
            return np.zeros(ids.shape, np.bool_)
        pairs = numbers[:, None] * count + ids
        places = np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)
        return (keys[places] == pairs) & (ids >= 0)


def _widened(found: Rankings, width: int) -> Rankings:
    wider = Rankings.empty(len(found.ids), width, found.scores.dtype)
    wider.ids[:, : found.ids.shape[1]], wider.scores[:, : found.ids.shape[1]] = found
    return wider
