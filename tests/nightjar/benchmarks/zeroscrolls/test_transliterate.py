"""ASCII forms, against what Unidecode 1.4.0 writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.zeroscrolls.text_metrics import ascii_text


@given(st.text())
def test_the_text_is_ascii_and_each_character_counts_alone(text: str) -> None:
    assert ascii_text(text).isascii()
    assert ascii_text(text) == "".join(map(ascii_text, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("São Paulo", "Sao Paulo"),
        ("½", " 1/2"),
        ("北京", "Bei Jing "),
        ("🙂", ""),
        ("“it’s”", '"it\'s"'),
        ("ﬁne Straße", "fine Strasse"),
        ("\u2126", "ohm"),
        ("Ω", "O"),
        ("€5 ₹5", "EUR5 Rs5"),
        ("−5 ≤ 3", "-5 <= 3"),
        ("𝐀𝒷", "Ab"),
        ("②", "2"),
        ("∀", ""),
        ("Ŋ ŋ", "NG ng"),
        ("しつ シツ", "shitsu shitsu"),
        ("כחול", "KHHvl"),
        ("\ud800", ""),
    ],
)
def test_forms_of_unidecode(text: str, expected: str) -> None:
    assert ascii_text(text) == expected
