"""The passages that the tools search by BM25: those of an index, or of a corpus, cut and indexed in memory."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from nightjar.core import paths
from nightjar.core.contracts import DOCUMENTS, PASSAGES
from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents
from nightjar.core.tables import part_rows, read, read_part
from nightjar.search.lexical import RECORD, LexicalIndex
from nightjar.search.passages import cut, searchable
from nightjar.tools.tool import Request

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


class Stored:
    """The passages of an index by number. Parts of the table are read as they are needed, the last 64 are kept."""

    def __init__(self, folder: Path) -> None:
        rows = part_rows(folder, PASSAGES)
        self._names, self._ends = list(rows), np.array(list(accumulate(rows.values())))
        self._part = lru_cache(64)(lambda name: read_part(folder, PASSAGES, name, COLUMNS))

    def __len__(self) -> int:
        return int(self._ends[-1])

    def slice(self, number: int, rows: int) -> pa.Table:
        """So many rows from `number` on, at most to the end of their part."""
        part = int(self._ends.searchsorted(number, "right"))
        table = self._part(self._names[part])
        return table.slice(number - (self._ends[part] - len(table)), rows)


class Passages:
    """`table` has COLUMNS, `index` the same passages in the same order.

    `version` identifies the passages.
    """

    def __init__(self, table: pa.Table | Stored, index: LexicalIndex, version: str) -> None:
        if len(table) != len(index):
            what = f"{len(table)} passages, but {len(index)} of them indexed"
            raise NightjarError(what, "the index of the tools", "run: nightjar rebuild index")
        self.table, self.index, self.version = table, index, version

    @classmethod
    def load(cls, folder: Path | None) -> Passages:
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
        return cls(Stored(folder), index, contents(folder / PASSAGES.name, folder / "lexical" / RECORD)[:16])

    def find(self, request: Request, limit: int) -> list[Passage]:
        """The `limit` best passages for the input that the text of the request does not contain, best first.

        A document of the indexed corpus would otherwise find itself, and with that its own continuation. A passage
        without a word of the input is not found.
        """
        passages: list[Passage] = []
        depth, checked = max(DEPTH, limit), 0
        while True:
            ranking = self.index.search([request.input], depth).lists()[0]
            for number, _ in ranking[checked:]:
                passage = Passage(number, **self.table.slice(number, 1).to_pylist()[0])
                if passage.text not in request.text:
                    passages.append(passage)
                    if len(passages) == limit:
                        return passages
            if len(ranking) < depth:
                return passages
            depth, checked = 4 * depth, depth


def on_one_line(text: str, words: int) -> str:
    """The first `words` words of `text` with single blanks between them."""
    return " ".join(text.split(maxsplit=words)[:words])
