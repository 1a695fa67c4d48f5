"""Our stemmer against NLTK's, on words that no rule can hide from."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nightjar.text import porter

# Every suffix of every step, before and after the steps that change it.
SUFFIXES = (
    "s", "es", "ss", "sses", "ies", "ied", "eed", "ed", "ing", "y", "ly", "ational", "tional", "enci",
    "ency", "anci", "ancy", "izer", "bli", "bly", "alli", "ally", "entli", "ently", "eli", "ely", "ousli",
    "ously", "ization", "ation", "ator", "alism", "iveness", "fulness", "ousness", "aliti", "ality",
    "iviti", "ivity", "biliti", "bility", "fulli", "fully", "logi", "logy", "icate", "ative", "alize",
    "iciti", "icity", "ical", "ful", "ness", "al", "ance", "ence", "er", "ic", "able", "ible", "ant",
    "ement", "ment", "ent", "ion", "sion", "tion", "ou", "ism", "ate", "iti", "ous", "ive", "ize", "e", "l",
    "ll", "lle", "at", "bl", "iz", "i", "d", "g",
)  # fmt: skip
BEGINNINGS = st.text("aeiouybcdlstwxz1", max_size=5)


@cache
def nltk_stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer  # nltk takes half a second to load

    return PorterStemmer()


@settings(max_examples=500, deadline=None)
@given(BEGINNINGS, st.lists(st.sampled_from(SUFFIXES), min_size=1, max_size=3))
def test_equal_to_nltk(beginning: str, suffixes: list[str]) -> None:
    word = beginning + "".join(suffixes)
    assert porter.stem(word) == nltk_stemmer().stem(word)


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789", max_size=12))
def test_any_word(word: str) -> None:
    assert porter.stem(word) == nltk_stemmer().stem(word)


def test_what_nltk_adds() -> None:
    words = [*nltk_stemmer().pool, "geology", "archaeology", "dies", "flies", "enjoy", "say"]
    assert {word: porter.stem(word) for word in words} == {word: nltk_stemmer().stem(word) for word in words}
