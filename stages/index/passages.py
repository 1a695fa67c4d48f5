"""Documents to passages: runs of so many words, one after another (DPR takes 100)."""

from __future__ import annotations

import re

_WORD = re.compile(r"\S+")


def cut(text: str, words: int) -> list[tuple[int, str]]:
    """The passages of `text` as (offset, passage): `words` whitespace words each, the last one may be
    shorter.

    They do not overlap and leave out nothing but the blanks between them; inside, the text is as it was, so
    that text[offset:offset + len(passage)] == passage. A text without words has none.
    """
    spans = [match.span() for match in _WORD.finditer(text)]
    groups = [spans[start : start + words] for start in range(0, len(spans), words)]
    return [(group[0][0], text[group[0][0] : group[-1][1]]) for group in groups]


def searchable(title: str, text: str) -> str:
    """What is indexed of a passage: its document's title, if any, on a line of its own, and its text."""
    return f"{title}\n{text}" if title else text
