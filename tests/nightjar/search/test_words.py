"""Words against the categories of Unicode, character by character."""

from __future__ import annotations

import re
import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from nightjar.search.words import words

ASCII = st.text(st.characters(max_codepoint=127))
# Scripts whose letters carry marks, and signs that end a word.
LETTERS = "aÉßİΣ٣कुतबिี้กั₹ा̈\u0301\u0327\u20e3_5½– .-😀\ufe0f\n"


def _letter(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LN" or sign == "_"


def _by_category(text: str) -> list[str]:
    """The words of a text, one character after another."""
    runs, run = [], ""
    for sign in f"{unicodedata.normalize('NFC', text.lower())} ":
        if _letter(sign) or (run and unicodedata.category(sign)[0] == "M"):
            run += sign
        elif run:
            runs.append(run)
            run = ""
    return runs


def test_marks_belong_to_words() -> None:
    assert words("किताब, कुतुब") == ["किताब", "कुतुब"]
    assert words("ที่นี่ है؟ كِتَاب שָׁלוֹם") == ["ที่นี่", "है", "كِتَاب", "שָׁלוֹם"]
    assert words("❤\ufe0f \u0301") == []


@given(st.text(st.sampled_from(LETTERS), max_size=12))
def test_words_of_any_text(text: str) -> None:
    assert words(text) == _by_category(text)


@given(ASCII)
def test_words_of_ascii_texts(text: str) -> None:
    assert words(text) == re.findall(r"\w+", text.lower())


@given(st.text(st.sampled_from(LETTERS) | st.characters(codec="utf-8", exclude_categories=("Cn",))))
def test_one_normal_form(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert words(composed) == words(decomposed)


def test_one_normal_form_of_every_character() -> None:
    signs = (chr(number) for number in range(sys.maxunicode + 1) if not 0xD800 <= number < 0xE000)
    changed = [sign for sign in signs if unicodedata.normalize("NFD", sign) != sign]
    assert len(changed) > 1000
    assert all(words(sign) == words(unicodedata.normalize("NFD", sign)) for sign in changed)
