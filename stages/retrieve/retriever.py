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


class RankedPassages(NamedTuple):
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

    def rank(self, texts: Sequence[str], k: int, beside: float = 0) -> RankedPassages:
        """The `k` best passages for each text, best first; fewer if fewer are there or share a word (bm25).

        A passage that the text itself contains adds nothing to it and is left out: a corpus of training inputs holds
        the very inputs that are looked up. A passage that contains the text and at most `beside` words more is left out
        too: they may be the answer. Both compare words in lower case (`overlap`). A text that occurs several times is
        looked up once. The rankings have at most `k` columns.
        """
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        unique = list(places)
        own_passages = self._corpus.overlaps(unique, beside)
        counts = np.bincount(own_passages.queries, minlength=len(unique))
        depth = max(k + min(int(counts.max(initial=0)), _FEW), DEPTH if self.kind == "hybrid" else 1)
        rankings = self._rank(unique, np.arange(len(unique)), k, depth, own_passages)
        rows = np.array([places[text] for text in texts], np.int64)
        equal = np.unique(own_passages.passages[own_passages.equal])
        return RankedPassages(
            Rankings(rankings.ids[rows], rankings.scores[rows]), len(own_passages.queries), equal
        )

    def rows(self, numbers: NDArray[np.int64]) -> pa.Table:
        """The passages of these numbers: passage, document_id, title, text."""
        return self.passages.take(pa.array(numbers))

    @cached_property
    def _corpus(self) -> Corpus:
        return Corpus(self.passages["text"])

    def _rank(
        self, texts: Sequence[str], numbers: NDArray[np.int64], k: int, depth: int, own_passages: Overlaps
    ) -> Rankings:
        """The rankings of the texts of these numbers in `own_passages`, without their own passages."""
        depth = min(depth, len(self.passages))
        rankings = self._search(texts, depth)
        ranked = rankings.ids >= 0
        is_kept = ranked & ~self._is_own_passage(rankings.ids, numbers, own_passages)
        # The others move up; most rankings have none of their own passages.
        rows = np.flatnonzero((is_kept != ranked).any(axis=1))
        order = np.argsort(~is_kept[rows], axis=1, kind="stable")
        for values, nothing in ((rankings.ids, -1), (rankings.scores, -np.inf)):
            chosen = np.where(is_kept[rows], values[rows], nothing)
            values[rows] = np.take_along_axis(chosen, order, axis=1)
        best = Rankings(rankings.ids[:, :k], rankings.scores[:, :k])
        # A long text may fill the whole depth with its own passages: search further down for it alone.
        short = np.flatnonzero((is_kept.sum(axis=1) < k) & (ranked.sum(axis=1) >= depth))
        if depth < len(self.passages) and len(short):
            deeper = self._rank(
                [texts[row] for row in short.tolist()], numbers[short], k, 4 * depth, own_passages
            )
            width = deeper.ids.shape[1]
            if width > best.ids.shape[1]:
                best = _widened(best, width)
            best.ids[short, :width], best.scores[short, :width] = deeper.ids, deeper.scores
        return best

    def _search(self, texts: Sequence[str], depth: int) -> Rankings:
        rankings = []
        if self.kind in ("dense", "hybrid"):
            rankings.append(self._dense.search(self._encoder.encode(texts), depth))
        if self.kind in ("bm25", "hybrid"):
            rankings.append(self._lexical.search(texts, depth))
        return reciprocal_rank(rankings) if self.kind == "hybrid" else rankings[0]

    def _is_own_passage(
        self, ids: NDArray[np.int64], numbers: NDArray[np.int64], own_passages: Overlaps
    ) -> NDArray[np.bool_]:
        """Which of `ids`, a row for each text, are the texts' own passages."""
        count = len(self.passages)
        keys = own_passages.queries * count + own_passages.passages
        if not len(keys):
            return np.zeros(ids.shape, np.bool_)
        pairs = numbers[:, None] * count + ids
        places = np.minimum(np.searchsorted(keys, pairs), len(keys) - 1)
        return (keys[places] == pairs) & (ids >= 0)


def _widened(rankings: Rankings, width: int) -> Rankings:
    wider = Rankings.empty(len(rankings.ids), width, rankings.scores.dtype)
    wider.ids[:, : rankings.ids.shape[1]], wider.scores[:, : rankings.ids.shape[1]] = rankings
    return wider
