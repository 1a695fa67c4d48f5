"""The passages that the tools search by BM25: those of an index, or of a corpus, cut and indexed in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from nightjar.core import paths
from nightjar.core.contracts import DOCUMENTS, PASSAGES
from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents
from nightjar.core.tables import read
from nightjar.search.lexical import RECORD, LexicalIndex
from nightjar.search.passages import cut, searchable
from nightjar.search.rankings import Passages
from nightjar.tools.tool import ToolRequest

# How far down a ranking is read at first.
DEPTH = 20
# Words of a passage of a corpus (DPR).
WORDS = 100
COLUMNS = ["document_id", "title", "text"]


class Passage(NamedTuple):
    """A passage of a document, by its number in the index; the title is the document's, and may be empty."""

    number: int
    document_id: str
    title: str
    text: str


class PassageSearch:
    """Searches passages: `table` has COLUMNS, `index` the same passages in the same order.

    `version` identifies the passages.
    """

    def __init__(self, table: pa.Table | Passages, index: LexicalIndex, version: str) -> None:
        if len(table) != len(index):
            what = f"{len(table)} passages, but {len(index)} of them indexed"
            raise NightjarError(what, "the index of the tools", "run: nightjar rebuild index")
        self.table, self.index, self.version = table, index, version

    @classmethod
    def load(cls, folder: Path | None) -> PassageSearch:
        """The passages of an index (data/index), mapped from disk, or those of a corpus (data/ingest/corpus): its
        documents are cut into runs of WORDS words and indexed in memory.
        """
        if folder is None:
            fix = f"set the system's index to {paths.INDEX}, or its tools to a set without search"
            raise NightjarError("there is nothing to search", "index", fix)
        if (folder / DOCUMENTS.name).is_dir():
            documents = read(folder, DOCUMENTS, ["id", "title", "text"]).to_pylist()
            pieces = [
                (one["id"], one["title"], text) for one in documents for _, text in cut(one["text"], WORDS)
            ]
            index = LexicalIndex.build([searchable(title, text) for _, title, text in pieces])
            table = pa.table(dict(zip(COLUMNS, zip(*pieces, strict=True), strict=True)))
            return cls(table, index, f"{contents(folder / DOCUMENTS.name)[:16]} {WORDS}")
        index = LexicalIndex.load(folder / "lexical")
        return cls(
            Passages(folder), index, contents(folder / PASSAGES.name, folder / "lexical" / RECORD)[:16]
        )

    def find(self, request: ToolRequest, limit: int) -> list[Passage]:
        """The `limit` best passages for the input that the text of the request does not contain, best first.

        A document of the indexed corpus would otherwise find itself, and with that its own continuation. A passage
        without a word of the input is not found.
        """
        passages: list[Passage] = []
        depth, checked = max(DEPTH, limit), 0
        while True:
            ranking = self.index.search([request.input], depth).lists()[0]
            for passage in self._passages([number for number, _ in ranking[checked:]]):
                if passage.text not in request.text:
                    passages.append(passage)
                    if len(passages) == limit:
                        return passages
            if len(ranking) < depth:
                return passages
            depth, checked = 4 * depth, depth

    def _passages(self, numbers: Sequence[int]) -> list[Passage]:
        table = self.table
        rows = (
            table.rows(numbers)
            if isinstance(table, Passages)
            else table.take(pa.array(numbers, pa.int64())).to_pylist()
        )
        return [
            Passage(number, *(row[name] for name in COLUMNS))
            for number, row in zip(numbers, rows, strict=True)
        ]


def on_one_line(text: str, words: int) -> str:
    """The first `words` words of `text` with single blanks between them."""
    return " ".join(text.split(maxsplit=words)[:words])
