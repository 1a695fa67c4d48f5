"""The passages that the tools search by BM25: those of an index, or the documents of a corpus, indexed in memory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from nightjar.core.contracts import DOCUMENTS, PASSAGES
from nightjar.core.errors import NightjarError
from nightjar.core.journal import contents
from nightjar.core.tables import read
from nightjar.search.lexical import LexicalIndex
from nightjar.tools.tool import Request

INDEX = Path("data/index")
# How far down a ranking is read at first.
DEPTH = 20


class Passages:
    """`table` has the columns title and text, `index` the same passages in the same order.

    `version` identifies the passages. Raises NightjarError if index and table have different lengths.
    """

    def __init__(self, table: pa.Table, index: LexicalIndex, version: str) -> None:
        if len(table) != len(index):
            what = f"{len(table)} passages, but {len(index)} of them indexed"
            raise NightjarError(what, "the index of the tools", "run: nightjar rebuild index")
        self.table, self.index, self.version = table, index, version

    @classmethod
    def load(cls, folder: Path | None) -> Passages:
        """The passages of an index (by default data/index), or the documents of a corpus (data/ingest/corpus).

        Raises NightjarError if `folder` is neither, or damaged.
        """
        folder = folder or INDEX
        if (folder / DOCUMENTS.name).is_dir():
            documents = read(folder, DOCUMENTS, ["title", "text"])
            titles, texts = documents["title"].to_pylist(), documents["text"].to_pylist()
            index = LexicalIndex.build(f"{title}\n{text}" for title, text in zip(titles, texts, strict=True))
            return cls(documents, index, contents(folder / DOCUMENTS.name)[:16])
        index = LexicalIndex.load(folder / "lexical")
        passages = read(folder, PASSAGES, ["title", "text"])
        return cls(passages, index, contents(folder / PASSAGES.name, folder / "lexical")[:16])

    def find(self, request: Request, most: int) -> list[tuple[str, str]]:
        """Titles and texts of the `most` best passages for the input that the text of the request does not contain.

        A document of the indexed corpus would otherwise find itself, and with that its own continuation. A passage
        without a word of the input is not found.
        """
        found: list[tuple[str, str]] = []
        depth, seen = max(DEPTH, most), 0
        while True:
            ranking = self.index.search([request.input], depth).lists()[0]
            for number, _ in ranking[seen:]:
                text = self.table["text"][number].as_py()
                if text not in request.text:
                    found.append((self.table["title"][number].as_py(), text))
                    if len(found) == most:
                        return found
            if len(ranking) < depth:
                return found
            depth, seen = 4 * depth, depth


def on_one_line(text: str, words: int) -> str:
    """The first `words` words of `text` with single blanks between them."""
    return " ".join(text.split(maxsplit=words)[:words])
