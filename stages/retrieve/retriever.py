"""A retriever over the artifact of the index stage: dense, bm25, or hybrid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nightjar.core.contracts import PASSAGES
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read
from nightjar.search.encoders import identity, load_encoder
from nightjar.search.fuse import Hit, Rankings, reciprocal_rank
from nightjar.search.lexical import LexicalIndex

# How far down the rankings are read: hybrid fuses so much of both, and passages of the text itself are left out.
DEPTH = 100


class Retriever:
    """Ranks passages for texts.

    `kind`: "dense" scores by inner product, "bm25" by Okapi BM25, "hybrid" fuses the best DEPTH (or more, if more
    are wanted) of both by reciprocal rank. Raises NightjarError if a part of the index or the encoder is
    missing, damaged, or does not fit the rest.
    """

    def __init__(self, index: Path, encoder: Path, kind: str, threads: int = 1) -> None:
        self.kind = kind
        self._passages = read(index, PASSAGES, ["passage", "document_id", "title", "text"])
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
        if {len(part) for part in parts} != {len(self._passages)}:
            raise NightjarError("passages and index do not fit", index, "run: nightjar rebuild index")

    def rank(self, texts: Sequence[str], k: int) -> list[list[Hit]]:
        """The `k` best passages for each text, best first; fewer if fewer are there or share a word (bm25).

        A passage that the text itself contains adds nothing to it and is left out: a corpus of training inputs holds
        the very inputs that are looked up. A text that occurs several times is looked up once.
        """
        unique = list(dict.fromkeys(texts))
        rankings = dict(zip(unique, self._rank(unique, k, max(k, DEPTH)), strict=True))
        return [rankings[text] for text in texts]

    def _rank(self, texts: Sequence[str], k: int, depth: int) -> list[list[Hit]]:
        found = self._search(texts, min(depth, len(self._passages)))
        others = [self._others(text, hits, k) for text, hits in zip(texts, found.lists(), strict=True)]
        # A long text may fill the whole depth with its own passages: look further down for it alone.
        if depth < len(self._passages):
            ranked = np.count_nonzero(found.ids >= 0, axis=1)
            short = [n for n, other in enumerate(others) if len(other) < k and ranked[n] >= depth]
            if short:
                deeper = self._rank([texts[n] for n in short], k, 4 * depth)
                for number, ranking in zip(short, deeper, strict=True):
                    others[number] = ranking
        return others

    def _search(self, texts: Sequence[str], depth: int) -> Rankings:
        found = []
        if self.kind in ("dense", "hybrid"):
            found.append(self._dense.search(self._encoder.encode(texts), depth))
        if self.kind in ("bm25", "hybrid"):
            found.append(self._lexical.search(texts, depth))
        return reciprocal_rank(found) if self.kind == "hybrid" else found[0]

    def _others(self, text: str, hits: Sequence[Hit], k: int) -> list[Hit]:
        """The first `k` of the hits whose passages are not contained in the text."""
        passages = self._passages["text"]
        others = (hit for hit in hits if passages[hit[0]].as_py() not in text)
        return list(islice(others, k))

    def passages(self, numbers: list[int]) -> list[dict[str, Any]]:
        """The passages of these numbers: passage, document_id, title, text."""
        rows: list[dict[str, Any]] = self._passages.take(pa.array(numbers, pa.int64())).to_pylist()
        return rows
