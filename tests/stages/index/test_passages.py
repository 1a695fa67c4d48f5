"""Passages are slices of their document, and together all of its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.search.passages import cut, cut_sentences


@given(st.text(st.sampled_from("ab \n\t\u00a0\u3000é"), max_size=60), st.integers(1, 5))
def test_every_word_once_and_in_its_place(text: str, words: int) -> None:
    passages = cut(text, words)
    assert [word for _, passage in passages for word in passage.split()] == text.split()
    assert all(text[start : start + len(passage)] == passage for start, passage in passages)
    lengths = [len(passage.split()) for _, passage in passages]
    assert all(length == words for length in lengths[:-1])
    assert all(0 < length <= words for length in lengths[-1:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("A line\nand another\n\n\nthird.", ["A line", "and another", "third."]),
        ("Dr. Smith met J. R. Ewing at 3.15 p.m. today.", ["Dr. Smith met J. R. Ewing at 3.15 p.m. today."]),
        ("By E\u0301. Zola. By É. Zola.", ["By E\u0301. Zola.", "By É. Zola."]),
        ("It cost 5 dollars. 7 were left.", ["It cost 5 dollars.", "7 were left."]),
        ('He said "no." She left.', ['He said "no."', "She left."]),
        ('"Who?" asked the owl. (Nobody.) "I."', ['"Who?" asked the owl.', "(Nobody.)", '"I."']),
        ("the film . The end .", ["the film .", "The end ."]),
        ("Wait... what? See e.g. Fig. 3.", ["Wait... what?", "See e.g. Fig. 3."]),
        ("鳥は飛ぶ。夜に鳴く。", ["鳥は飛ぶ。", "夜に鳴く。"]),
        (" \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [sentence for _, sentence in cut_sentences(text, 100)] == expected


@given(st.text(alphabet='aB. !?\n"()。\t', max_size=60), st.integers(1, 5))
def test_sentences_leave_out_white_space_alone(text: str, words: int) -> None:
    pieces = cut_sentences(text, words)
    assert "".join(" ".join(piece for _, piece in pieces).split()) == "".join(text.split())
    end = 0
    for start, piece in pieces:
        assert text[start : start + len(piece)] == piece and not text[end:start].strip()
        assert 1 <= len(piece.split()) <= words and "\n" not in piece.strip("\n")
        end = start + len(piece)
