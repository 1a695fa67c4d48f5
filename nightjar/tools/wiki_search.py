"""Search by BM25: the best passage for a query, as "Title > snippet" (Toolformer appendix A.1, facts 3.5).

The paper searches the KILT dump of Wikipedia. Here the passages are those of an index (data/index), or the documents of
a corpus (data/ingest/corpus), which are then indexed in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from nightjar.core.contracts import DOCUMENTS, PASSAGES
from nightjar.core.errors import NightjarError
from nightjar.core.journal import contents
from nightjar.core.tables import read
from nightjar.prompts.tool_prompts import head
from nightjar.search.lexical import LexicalIndex
from nightjar.tools.tool import Request, Tool

INDEX = Path("data/index")
# Words of a snippet; the paper prints snippets of about 25.
SNIPPET_WORDS = 40
# How far down a ranking is read at first.
DEPTH = 20


class WikiSearch(Tool):
    """Searches `passages`, a table with the columns title and text, by `index`, which has them in the same order.

    `version` identifies the passages. Raises NightjarError if index and passages have different lengths.
    """

    name = "WikiSearch"
    instructions = head("WikiSearch")
    uses = frozenset({"text"})

    def __init__(self, passages: pa.Table, index: LexicalIndex, version: str) -> None:
        if len(passages) != len(index):
            what = f"{len(passages)} passages, but {len(index)} of them indexed"
            raise NightjarError(what, "WikiSearch", "run: nightjar rebuild index")
        self.passages, self.index, self.version = passages, index, version

    def run(self, asked: Sequence[Request]) -> list[str | None]:
        """The first passage of each ranking that the text of the call does not contain.

        A document of the indexed corpus would otherwise find itself, and with that its own continuation.
        """
        return [self._result(request) for request in asked]

    def why(self, request: Request) -> str:
        return "no passage has a word of it"

    def _result(self, request: Request) -> str | None:
        depth, seen = DEPTH, 0
        while True:
            ranking = self.index.search([request.input], depth).lists()[0]
            for number, _ in ranking[seen:]:
                text = self.passages["text"][number].as_py()
                if text not in request.text:
                    return snippet(self.passages["title"][number].as_py(), text)
            if len(ranking) < depth:
                return None
            depth, seen = 4 * depth, depth


def snippet(title: str, text: str) -> str:
    """ "Title > snippet": the first SNIPPET_WORDS words of `text`, on one line."""
    words = " ".join(text.split()[:SNIPPET_WORDS])
    title = " ".join(title.split())
    return f"{title} > {words}" if title else words


def make(resource: Path | None = None) -> Tool:
    """The search in `resource`: the artifact of an index (by default data/index) or of a corpus.

    Raises NightjarError if it is neither, or damaged.
    """
    folder = resource or INDEX
    if (folder / DOCUMENTS.name).is_dir():
        documents = read(folder, DOCUMENTS, ["title", "text"])
        titles, texts = documents["title"].to_pylist(), documents["text"].to_pylist()
        index = LexicalIndex.build(f"{title}\n{text}" for title, text in zip(titles, texts, strict=True))
        return WikiSearch(documents, index, f"1 {contents(folder / DOCUMENTS.name)[:16]}")
    index = LexicalIndex.load(folder / "lexical")
    passages = read(folder, PASSAGES, ["title", "text"])
    return WikiSearch(passages, index, f"1 {contents(folder / PASSAGES.name, folder / 'lexical')[:16]}")
