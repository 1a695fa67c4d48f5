"""A retriever over the artifact of the index stage: dense, bm25, or hybrid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from stages.contracts import PASSAGES
from stages.errors import NightjarError
from stages.search.dense import DenseIndex
from stages.search.encoder import SentenceEncoder
from stages.search.fuse import Ranking, reciprocal_rank
from stages.search.lexical import LexicalIndex
from stages.tables import read

# How far down hybrid looks in each of the two rankings that it fuses.
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

        A text that occurs several times is looked up once.
        """
        unique = list(dict.fromkeys(texts))
        rankings = dict(zip(unique, self._rank(unique, k), strict=True))
        return [rankings[text] for text in texts]

    def _rank(self, texts: list[str], k: int) -> list[Ranking]:
        depth = max(k, DEPTH) if self.kind == "hybrid" else k
        dense = self._dense.search(self._encoder.encode(texts), depth) if self._dense else []
        lexical = self._lexical.search(texts, depth) if self._lexical else []
        if self.kind == "hybrid":
            return [reciprocal_rank(pair)[:k] for pair in zip(dense, lexical, strict=True)]
        return dense or lexical

    def passages(self, numbers: list[int]) -> list[dict[str, Any]]:
        """The passages of these numbers: passage, document_id, title, text."""
        rows: list[dict[str, Any]] = self._passages.take(pa.array(numbers, pa.int64())).to_pylist()
        return rows
