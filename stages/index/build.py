"""Builds the artifact of the index stage, batch by batch: passages, vectors, BM25."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.core.contracts import DOCUMENTS, PASSAGES
from nightjar.core.errors import NightjarError
from nightjar.core.params import Index
from nightjar.core.tables import ArtifactWriter, batches
from nightjar.search.dense import DenseIndex
from nightjar.search.encoders import Encoder, identity, load_encoder
from nightjar.search.lexical import LexicalIndex
from stages.index.passages import cut, searchable

PASSAGES_PER_PART = 65_536

log = logging.getLogger("nightjar")


@dataclass(frozen=True)
class Facts:
    """Documents read, indexed and rejected (without a word); passages and words in them; the encoder's identity."""

    documents: int
    indexed: int
    rejected: int
    passages: int
    words: int
    encoder: dict[str, Any]


def build(corpus: Path, encoder: Path, output: Path, settings: Index, threads: int) -> Facts:
    """Index the DOCUMENTS of the artifact `corpus` into the artifact `output`.

    The same documents, encoder, settings and threads give the same bytes. Raises NightjarError if there is no document,
    none has a word, or the encoder cannot be loaded.
    """
    model = load_encoder(encoder, threads)
    with ArtifactWriter(output) as writer:
        source = _Source(corpus, settings.passage_words, writer)
        rows = source.passages()
        part = 0
        while chunk := list(islice(rows, PASSAGES_PER_PART)):
            writer.write(PASSAGES, chunk, part=f"part-{part:05d}")
            part += 1
        if not part:
            raise NightjarError("no document has a word in it", corpus, "check ingest.corpus.path")
        # The passages just written are read again, once for each index, instead of being held in memory.
        vectors = DenseIndex.build(_vectors(writer.temporary, model), settings.dense, threads)
        vectors.save(writer.folder("dense"), identity(model))
        lexical = LexicalIndex.build(
            (text for texts in _texts(writer.temporary) for text in texts), settings.lexical
        )
        lexical.save(writer.folder("lexical"))
        return Facts(
            documents=source.documents,
            indexed=source.documents - len(writer.rejected),
            rejected=len(writer.rejected),
            passages=writer.rows(PASSAGES),
            words=source.words,
            encoder=identity(model),
        )


class _Source:
    """The passages of a corpus, numbered, and the count of what they came from."""

    def __init__(self, corpus: Path, passage_words: int, writer: ArtifactWriter) -> None:
        self.corpus, self.passage_words, self.writer = corpus, passage_words, writer
        self.documents = self.words = 0

    def passages(self) -> Iterator[dict[str, Any]]:
        number = 0
        columns = ["dataset", "file", "id", "title", "text"]
        for batch in batches(self.corpus, DOCUMENTS, columns):
            for row in batch.to_pylist():
                self.documents += 1
                pieces = cut(row["text"], self.passage_words)
                if not pieces:
                    self.writer.reject(row["dataset"], row["file"], "no words", row["text"], row["id"])
                for start, text in pieces:
                    self.words += len(text.split())
                    yield {
                        "passage": number,
                        "document_id": row["id"],
                        "title": row["title"],
                        "text": text,
                        "start": start,
                    }
                    number += 1


def _texts(folder: Path) -> Iterator[list[str]]:
    """What is indexed of the passages in `folder`, a record batch at a time."""
    for batch in batches(folder, PASSAGES, ["title", "text"]):
        titles, texts = batch["title"].to_pylist(), batch["text"].to_pylist()
        yield [searchable(title, text) for title, text in zip(titles, texts, strict=True)]


def _vectors(folder: Path, model: Encoder) -> Iterator[NDArray[np.float32]]:
    done = 0
    for texts in _texts(folder):
        yield model.encode(texts)
        done += len(texts)
        log.info("index: %d passages encoded", done)
