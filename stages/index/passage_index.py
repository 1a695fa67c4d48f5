"""Builds the artifact of the index stage: passages without repetitions, vectors, BM25."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.core.contracts import DOCUMENTS, PASSAGES
from nightjar.core.errors import NightjarError
from nightjar.core.tables import ROWS_PER_GROUP, ArtifactWriter, batches
from nightjar.params.search import Index
from nightjar.search.dense import DenseIndex
from nightjar.search.encoders import Encoder, identity, load_encoder
from nightjar.search.lexical import LexicalIndex
from nightjar.search.passages import cut, cut_sentences, searchable

REPEATED, SHORT = "the same text as an earlier passage", "fewer than index.min_words words"
NO_WORDS, NOTHING_LEFT = "no words", "no passage of its own that is long enough"


class PassageSource:
    """Iterating gives rows of contracts.PASSAGES, numbered from 0; a document without any is rejected.

    Counted on the way: `documents`, `pieces` (what the documents were cut into), `words` of the passages, and `dropped`
    pieces by reason: pieces = passages + dropped. Two texts are the same if they differ in white space alone; the first
    remains. That takes about 120 bytes of memory a passage.
    """

    def __init__(self, corpus: Path, settings: Index, writer: ArtifactWriter) -> None:
        self._corpus, self._settings, self._writer = corpus, settings, writer
        self._cut = cut_sentences if settings.granularity == "sentences" else cut
        self._seen: set[bytes] = set()
        self.documents = self.pieces = self.words = 0
        self.dropped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        number = 0
        for batch in batches(self._corpus, DOCUMENTS, ["dataset", "file", "id", "title", "text"]):
            for row in batch.to_pylist():
                self.documents += 1
                pieces = self._cut(row["text"], self._settings.passage_words)
                self.pieces += len(pieces)
                first_number = number
                for start, text in pieces:
                    if self._taken(text):
                        document = {"document_id": row["id"], "title": row["title"]}
                        yield {"passage": number, **document, "text": text, "start": start}
                        number += 1
                if first_number == number:
                    reason = NOTHING_LEFT if pieces else NO_WORDS
                    self._writer.reject(row["dataset"], row["file"], reason, row["text"], row["id"])

    def _taken(self, text: str) -> bool:
        words = text.split()
        if len(words) < self._settings.min_words:
            self.dropped[SHORT] += 1
            return False
        key = hashlib.blake2b(" ".join(words).encode(), digest_size=16).digest()
        if key in self._seen:
            self.dropped[REPEATED] += 1
            return False
        self._seen.add(key)
        self.words += len(words)
        return True


# One row group a part: a tool reads the parts of the passages that it finds.
PASSAGES_PER_PART = ROWS_PER_GROUP
# Vectors that are added to the dense index together.
VECTORS = 65_536
# Passages that are encoded together; a run that was killed resumes after the last such unit.
PASSAGES_PER_UNIT = 4096

Compute = Callable[[Sequence[int]], Iterable[tuple[int, Any]]]
# (units, compute, passages of a unit) -> the values of all units in order, as Stage.run_resumable gives them.
Resumed = Callable[[int, Compute, Callable[[int], int]], AbstractContextManager[Iterable[Any] | None]]


@dataclass(frozen=True)
class IndexFacts:
    """Documents read, indexed and rejected; what they were cut into, passages and words; pieces dropped by reason; the
    kind of dense index, or none; the encoder's identity, empty without a dense index.
    documents = indexed + rejected, pieces = passages + dropped.
    """

    documents: int
    indexed: int
    rejected: int
    pieces: int
    passages: int
    words: int
    dropped: dict[str, int]
    dense: str
    encoder: dict[str, Any]


def at_once(
    units: int, compute: Compute, size: Callable[[int], int]
) -> AbstractContextManager[Iterable[Any]]:
    """The values of all units without a record: a run that is killed starts again."""
    return nullcontext(value for _, value in compute(range(units)))


def build(
    corpus: Path,
    encoder: Path,
    output: Path,
    settings: Index,
    threads: int,
    resumed: Resumed = at_once,
    per_part: int = PASSAGES_PER_PART,
) -> IndexFacts:
    """Index the DOCUMENTS of the artifact `corpus` into the artifact `output`, `per_part` passages in a part.

    The same documents, encoder, settings and threads give the same bytes. Raises NightjarError if there is no document,
    none has a word, or the encoder cannot be loaded.
    """
    model = None if settings.dense == "none" else load_encoder(encoder, threads)
    with ArtifactWriter(output) as writer:
        source = PassageSource(corpus, settings, writer)
        count = writer.write_parts(PASSAGES, source, per_part)
        if not count:
            raise NightjarError(
                "no passage can be made of its documents", corpus, "check index.corpus, index.min_words"
            )
        texts = _PassageTexts(writer.temporary, titles=settings.granularity == "words")
        # The passages are read again, once for each index, instead of being held in memory.
        with resumed(*_encoding(texts, count, model)) if model else nullcontext() as values:
            if model and settings.dense != "none":
                folder = writer.folder("dense")
                array = _on_disk(values or (), count, model.dimension, folder / "vectors.raw")
                starts = range(0, count, VECTORS)
                rows = (array[start : start + VECTORS] for start in starts)
                DenseIndex.build(rows, settings.dense, threads).save(folder, identity(model))
                (folder / "vectors.raw").unlink()
            every = (text for batch in texts for text in batch)
            LexicalIndex.write(every, writer.folder("lexical"), settings.lexical)
        return IndexFacts(
            documents=source.documents,
            indexed=source.documents - len(writer.rejected),
            rejected=len(writer.rejected),
            pieces=source.pieces,
            passages=count,
            words=source.words,
            dropped=dict(sorted(source.dropped.items())),
            dense=settings.dense,
            encoder=identity(model) if model else {},
        )


class _PassageTexts:
    """Indexed texts of the passages in `folder`, a batch at a time; with `titles`, those of their documents too."""

    def __init__(self, folder: Path, titles: bool) -> None:
        self._folder, self._titles = folder, titles

    def __iter__(self) -> Iterator[list[str]]:
        for batch in batches(self._folder, PASSAGES, ["title", "text"]):
            titles, texts = batch["title"].to_pylist(), batch["text"].to_pylist()
            pairs = zip(titles, texts, strict=True)
            yield [searchable(title, text) for title, text in pairs] if self._titles else texts

    def units(self) -> Iterator[list[str]]:
        """The same, PASSAGES_PER_UNIT at a time."""
        texts = (text for batch in self for text in batch)
        while unit := list(islice(texts, PASSAGES_PER_UNIT)):
            yield unit


def _encoding(texts: _PassageTexts, count: int, model: Encoder) -> tuple[int, Compute, Callable[[int], int]]:
    """The encoding of `count` passages as units of work; the value of each is its vectors, float32, in base64."""

    def compute(todo: Sequence[int]) -> Iterator[tuple[int, str]]:
        numbers = set(todo)
        for number, unit in enumerate(texts.units()):
            if number in numbers:
                vectors = np.ascontiguousarray(model.encode(unit), dtype="<f4")
                yield number, base64.b64encode(vectors.tobytes()).decode("ascii")

    def size(unit: int) -> int:
        return min(PASSAGES_PER_UNIT, count - unit * PASSAGES_PER_UNIT)

    return -(-count // PASSAGES_PER_UNIT), compute, size


def _on_disk(values: Iterable[str], count: int, dimension: int, file: Path) -> NDArray[np.float32]:
    """The vectors of all units as a memory-mapped array of shape (count, dimension) in `file`."""
    with file.open("wb") as stream:
        for value in values:
            stream.write(base64.b64decode(value))
    return np.memmap(file, dtype="<f4", mode="r", shape=(count, dimension))
