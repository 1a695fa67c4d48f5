"""Search by BM25: the best passage for a query, as "Title > snippet" (Toolformer appendix A.1).

The paper searches the KILT dump of Wikipedia. Here the passages are those of an index (data/index) or of a corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nightjar.prompts.tool_prompts import head
from nightjar.tools.passages import Passages, on_one_line
from nightjar.tools.tool import NoSettings, Request, Tool

# Words of a snippet; the paper prints snippets of about 25.
SNIPPET_WORDS = 40


class WikiSearch(Tool):
    """The search as a tool. The paper names no rule for its documents: every text suits it."""

    name = "WikiSearch"
    instructions = head("WikiSearch")
    uses = frozenset({"text"})

    def __init__(self, passages: Passages) -> None:
        self.passages, self.version = passages, f"1 {passages.version}"

    @classmethod
    def make(cls, resource: Path | None, settings: NoSettings) -> WikiSearch:
        return cls(Passages.load(resource))

    def run(self, asked: Sequence[Request]) -> list[str | None]:
        """The first passage of each ranking that the text of the call does not contain."""
        found = [self.passages.find(request, 1) for request in asked]
        return [snippet(*best[0]) if best else None for best in found]

    def why(self, request: Request) -> str:
        return "no passage has a word of it"


def snippet(title: str, text: str) -> str:
    """ "Title > snippet": the first SNIPPET_WORDS words of `text`, on one line."""
    words = on_one_line(text, SNIPPET_WORDS)
    title = " ".join(title.split())
    return f"{title} > {words}" if title else words
