"""The passages of a corpus: cut, without repetitions, numbered, and counted."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nightjar.core.contracts import DOCUMENTS
from nightjar.core.tables import ArtifactWriter, batches
from nightjar.params.search import Index
from nightjar.search.passages import cut, cut_sentences

REPEATED, SHORT = "the same text as an earlier passage", "fewer than index.min_words words"
NO_WORDS, NOTHING_LEFT = "no words", "no passage of its own that is long enough"


class Source:
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
                own = number
                for start, text in pieces:
                    if self._taken(text):
                        same = {"document_id": row["id"], "title": row["title"]}
                        yield {"passage": number, **same, "text": text, "start": start}
                        number += 1
                if own == number:
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
