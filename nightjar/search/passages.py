"""Documents to passages: runs of so many words, one after another (DPR takes 100), or sentences (as PGRA takes them).

A sentence ends at a line break; at a full stop of Chinese or Japanese; and at . ! ? or … before white space, unless
what follows begins with a small letter, or what precedes is an initial or one of a few abbreviations before names and
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nightjar.search.words import normal

_WORD = re.compile(r"\S+")
_END = re.compile(r"\n+|[。！？]+[\"'”’」』）)]*|[.!?…]+[\"'”’)\]»]*(?=\s)")
_OPENING = "\"'“‘([«-–— "
_ABBREVIATIONS = frozenset(
    {
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "jr",
        "sr",
        "vs",
        "no",
        "vol",
        "fig",
        "eq",
        "pp",
        "cf",
        "gen",
        "col",
        "lt",
        "sgt",
        "capt",
        "rev",
        "hon",
        "gov",
        "sen",
        "rep",
        "e.g",
        "i.e",
    }
)
_LAST_WORD = re.compile(r"[\w.]*$")
# Enough for every abbreviation, and for what may open a sentence.
_NEAR = 12


def cut(text: str, words: int) -> list[tuple[int, str]]:
    """The passages of `text` as (offset, passage): `words` whitespace words each, the last one may be shorter.

    They do not overlap and leave out nothing but the blanks between them; inside, the text is as it was, so that
    text[offset:offset + len(passage)] == passage. A text without words has none.
    """
    spans = [match.span() for match in _WORD.finditer(text)]
    groups = [spans[start : start + words] for start in range(0, len(spans), words)]
    return [(group[0][0], text[group[0][0] : group[-1][1]]) for group in groups]


def cut_sentences(text: str, words: int) -> list[tuple[int, str]]:
    """The sentences of `text` as (offset, sentence); one of more than `words` words is cut as `cut` does.

    Like the passages of `cut`, they leave out nothing but white space.
    """
    sentences: list[tuple[int, str]] = []
    start = 0
    for end in [*_ends(text), len(text)]:
        sentences += [(start + offset, piece) for offset, piece in cut(text[start:end], words)]
        start = end
    return sentences


def _ends(text: str) -> Iterator[int]:
    """Offsets in `text` at which a sentence ends, but for the last."""
    for match in _END.finditer(text):
        if match[0][0] in "\n。！？" or not _continues(text, match.start(), match.end(), match[0]):
            yield match.end()


def _continues(text: str, start: int, end: int, marks: str) -> bool:
    """Return true if the sentence continues after the marks at text[start:end]."""
    following = text[end : end + _NEAR].lstrip().lstrip(_OPENING)[:1]
    if following.islower():
        return True
    if marks != ".":
        return False
    before = _LAST_WORD.search(normal(text[max(0, start - _NEAR) : start]))
    word = before[0] if before else ""
    initial = len(word.rpartition(".")[2]) == 1 and word[-1].isalpha() and word[-1].isupper()
    return initial or word.lower() in _ABBREVIATIONS


def searchable(title: str, text: str) -> str:
    """The text of a passage that is indexed: its document's title, if any, on a line of its own, and its text."""
    return f"{title}\n{text}" if title else text
