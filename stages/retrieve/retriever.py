"""A retriever over the artifact of the index stage: dense, bm25, or hybrid."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from nightjar.core.contracts import PASSAGES
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read
from nightjar.search.dense import DenseIndex
from nightjar.search.encoder import SentenceEncoder
from nightjar.search.fuse import Ranking, reciprocal_rank
from nightjar.search.lexical import LexicalIndex

# How far down the rankings are read: hybrid fuses so much of both, and passages of the text itself are left out.
DEPTH = 100


class Retriever:
    """Ranks passages for texts.

    `kind`: "dense" scores by cosine, "bm25" by Okapi BM25, "hybrid" fuses the best DEPTH (or more, if more
    are wanted) of both by reciprocal rank. Raises NightjarError if a part of the index or the encoder is
    missing, damaged, or does not fit the rest.
    """

    def __init__(self, index: Path, encoder: Path, kind: str, threads: int = 1) -> None:
        self.kind = kind
        self._passages = read(index, PASSAGES, ["passage", "document_id", "title", "text"])
        self._dense: DenseIndex | None = None
        self._lexical: LexicalIndex | None = None
        if kind in ("dense", "hybrid"):
            self._encoder = SentenceEncoder(encoder, threads)
            self._dense = DenseIndex.load(index / "dense" / "vectors.faiss", threads)
            if self._dense.dimension != self._encoder.dimension:
                raise NightjarError("built with another encoder", index, "run: nightjar rebuild index")
        if kind in ("bm25", "hybrid"):
            self._lexical = LexicalIndex.load(index / "lexical")
        sizes = {len(part) for part in (self._dense, self._lexical) if part is not None}
        if sizes != {len(self._passages)}:
            raise NightjarError("passages and index do not fit", index, "run: nightjar rebuild index")

    def rank(self, texts: list[str], k: int) -> list[Ranking]:
        """The `k` best passages for each text, best first; fewer if fewer are there or share a word (bm25).

        A passage that the text itself contains adds nothing to it and is left out: a corpus of training inputs holds
        the very inputs that are looked up. A text that occurs several times is looked up once.
        """
        unique = list(dict.fromkeys(texts))
        rankings = dict(zip(unique, self._rank(unique, k, max(k, DEPTH)), strict=True))
        return [rankings[text] for text in texts]

    def _rank(self, texts: list[str], k: int, depth: int) -> list[Ranking]:
        dense = self._dense.search(self._encoder.encode(texts), depth) if self._dense else []
        lexical = self._lexical.search(texts, depth) if self._lexical else []
        if self.kind == "hybrid":
            found = [reciprocal_rank(pair) for pair in zip(dense, lexical, strict=True)]
        else:
            found = dense or lexical
        others = [self._others(text, ranking, k) for text, ranking in zip(texts, found, strict=True)]
        # A long text may fill the whole depth with its own passages: look further down for it alone.
        if depth < len(self._passages):
            short = [n for n, other in enumerate(others) if len(other) < k and len(found[n]) >= depth]
            if short:
                deeper = self._rank([texts[n] for n in short], k, 4 * depth)
                for number, ranking in zip(short, deeper, strict=True):
                    others[number] = ranking
        return others

    def _others(self, text: str, ranking: Ranking, k: int) -> Ranking:
        """The first `k` of the ranking whose passages are not contained in the text."""
        passages = self._passages["text"]
        others = (hit for hit in ranking if passages[hit[0]].as_py() not in text)
        return list(islice(others, k))

    def passages(self, numbers: list[int]) -> list[dict[str, Any]]:
        """The passages of these numbers: passage, document_id, title, text."""
        rows: list[dict[str, Any]] = self._passages.take(pa.array(numbers, pa.int64())).to_pylist()
        return rows
