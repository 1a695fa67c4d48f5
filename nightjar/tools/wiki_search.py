"""Search by BM25: the best passage for a query, as "Title > snippet" (Toolformer appendix A.1).

The paper searches the KILT dump of Wikipedia. Here the passages are those of an index (data/index) or of a
corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nightjar.core.config import NoSettings
from nightjar.prompts.tool_prompts import CALL_NAMES, head
from nightjar.search.words import words
from nightjar.tools.passage_store import DEPTH, Passage, PassageSearch
from nightjar.tools.tool import Tool, ToolRequest

# Words of a snippet; the paper prints snippets of about 25.
SNIPPET_WORDS = 40


class WikiSearch(Tool):
    """The search as a tool. The paper names no rule for its documents: every text suits it."""

    name = CALL_NAMES["wiki_search"]
    description = "Searches an encyclopedia and gives the text that fits best."
    argument = "the words to search for"
    instructions = head("wiki_search")
    uses = frozenset({"text"})

    def __init__(self, passages: PassageSearch) -> None:
        self.passages, self.version = passages, f"3 {passages.version}"

    @classmethod
    def make(cls, resource: Path | None, settings: NoSettings) -> WikiSearch:
        return cls(PassageSearch.load(resource))

    def run(self, requests: Sequence[ToolRequest]) -> list[str | None]:
        """For each call a snippet of the best passage that the text of the call does not contain."""
        results: list[str | None] = []
        for request in requests:
            ranked = self.passages.find(request, DEPTH)
            passage = best(request.input, ranked) if ranked else None
            results.append(passage and snippet(passage.title, passage.text, request.input))
        return results

    def why(self, request: ToolRequest) -> str:
        return "no passage has a word of it"


def best(query: str, ranked: Sequence[Passage]) -> Passage:
    """Of the passages of the document that is ranked first, the one with most of the words of `query` that the title
    lacks, and of such the earliest. (BM25 alone prefers the short end of a document, which may have the title only.)
    """
    query_words = set(words(query)).difference(words(ranked[0].title))
    document_passages = [one for one in ranked if one.document_id == ranked[0].document_id]
    return min(
        document_passages, key=lambda one: (-len(query_words.intersection(words(one.text))), one.number)
    )


def snippet(title: str, text: str, query: str = "") -> str:
    """ "Title > snippet" on one line: SNIPPET_WORDS words of `text` in a row with as many of the different words of
    `query` as any. That is its beginning if it has as many; else the words are in the middle, as the answer may follow.
    """
    every, query_words = text.split(), set(words(query))
    common = [query_words.intersection(words(word)) for word in every]
    starts = range(max(1, len(every) - SNIPPET_WORDS + 1))
    counts = [len(set().union(*common[start : start + SNIPPET_WORDS])) for start in starts]
    best = [start for start, count in zip(starts, counts, strict=True) if count == max(counts)]
    start = best[len(best) // 2] if best[0] else 0
    excerpt = " ".join(every[start : start + SNIPPET_WORDS])
    title = " ".join(title.split())
    return f"{title} > {excerpt}" if title else excerpt
