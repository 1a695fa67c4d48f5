"""Passages are slices of their document, and together all of its words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stages.index.passages import cut, searchable


def test_cut() -> None:
    assert cut("  One two\n\nthree  four five. ", 2) == [(2, "One two"), (11, "three  four"), (23, "five.")]
    assert cut("one two", 2) == [(0, "one two")]
    assert cut(" \n\t", 3) == cut("", 3) == []


@given(st.text(st.sampled_from("ab \n\t\u00a0\u3000é"), max_size=60), st.integers(1, 5))
def test_every_word_once_and_in_its_place(text: str, words: int) -> None:
    passages = cut(text, words)
    assert [word for _, passage in passages for word in passage.split()] == text.split()
    assert all(text[start : start + len(passage)] == passage for start, passage in passages)
    lengths = [len(passage.split()) for _, passage in passages]
    assert all(length == words for length in lengths[:-1])
    assert all(0 < length <= words for length in lengths[-1:])


def test_searchable() -> None:
    assert searchable("A title", "a text") == "A title\na text"
    assert searchable("", "a text") == "a text"
