"""Words of a text, for every splitter whose rule is not published."""

from __future__ import annotations

import re
import unicodedata

import regex

_WORD = re.compile(r"\w+")
_MARK = regex.compile(r"\p{M}")
_MARKED_WORD = regex.compile(r"[\p{L}\p{N}_][\p{L}\p{N}\p{M}_]*")


def normal(text: str) -> str:
    """The text in the normal form NFC: a letter with its accent is one character, however it was typed."""
    return unicodedata.normalize("NFC", text)


def words(text: str) -> list[str]:
    """The words of the lower-cased text in NFC: runs of letters, digits, underscores and the marks that follow them.

    Marks are accents and the vowel signs of scripts such as Devanagari and Thai.
    """
    text = text.lower()
    if not text.isascii():
        # Lower case may take a letter and its accent apart, so the normal form comes last.
        text = normal(text)
        # The pattern without marks is twice as fast, and most texts have none.
        if _MARK.search(text):
            return _MARKED_WORD.findall(text)
    return _WORD.findall(text)
