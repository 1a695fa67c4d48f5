"""The metrics of one answer equal golden vectors, and slow or published programs; ASCII is that of Unidecode 1.4.0."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.zeroscrolls import text_metrics as metrics
from nightjar.benchmarks.zeroscrolls.text_metrics import (
    accuracy,
    best,
    concordance,
    exponential_similarity,
    percentage,
)
from nightjar.text.f1 import ascii_text, f1, normalised


@pytest.fixture(scope="module")
def vectors(golden: Path) -> dict[str, Any]:
    return json.loads((golden / "zeroscrolls_metrics.json").read_text(encoding="utf-8"))


def test_f1_equals_the_golden_vectors(vectors: dict[str, Any]) -> None:
    for one in vectors["f1"]:
        assert best(f1, one["prediction"], one["references"]) == pytest.approx(one["score"], abs=1e-12), one
        assert normalised(one["prediction"]) == one["normalized_prediction"]


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("exp_similarity", exponential_similarity),
        ("concordance_index", concordance),
        ("accuracy", accuracy),
    ],
)
def test_the_other_metrics_equal_the_golden_vectors(vectors: dict[str, Any], name: str, metric: Any) -> None:
    for one in vectors[name]:
        assert metric(one["prediction"], one["reference"]) == pytest.approx(one["score"], abs=1e-12), one
        if "parsed" in one:
            assert percentage(one["prediction"]) == one["parsed"]


@given(st.text("0179.%- ٣", max_size=12))
def test_the_percentage_is_the_first_match_of_the_published_pattern(text: str) -> None:
    found = re.search(r"\d+\.?\d*%", text)
    assert percentage(text) == (float(found[0][:-1]) if found else None)


@given(st.permutations(range(1, 9)), st.permutations(range(1, 9)))
def test_concordance_counts_pairs(ours: list[int], theirs: list[int]) -> None:
    same = sum(
        (ours.index(a) < ours.index(b)) == (theirs.index(a) < theirs.index(b))
        for a, b in combinations(range(1, 9), 2)
    )
    found = concordance(", ".join(map(str, ours)), ", ".join(map(str, theirs)))
    assert found == pytest.approx(same / 28, abs=1e-12)


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("1, 1, 2", "1, 2, 3", 0.0),
        ("1, 2, 3, 3", "1, 2, 3", 0.0),
        ("01, 2", "1, 2", 1.0),
        ("1", "1", 1.0),
        ("", "", 0.0),
        ("9" * 5000, "1, 2", 0.0),
        ("\u0661, 2", "1, 2", 0.0),
    ],
)
def test_odd_lists_of_ids(answer: str, reference: str, value: float) -> None:
    assert concordance(answer, reference) == value


@pytest.mark.parametrize(
    ("answer", "letter"),
    [("A good answer is B", "A"), ("b", ""), ("A_B", ""), ("None of A", "A"), ("(D)", "D"), ("ABC", "")],
)
def test_the_letter_is_the_first_capital_word(answer: str, letter: str) -> None:
    assert metrics.letter(answer) == letter


@pytest.mark.parametrize(
    ("answer", "parsed"),
    [
        ("60 %", None),
        ("-20%", 20.0),
        ("120%", 120.0),
        ("1,000%", 0.0),
        ("62.%", 62.0),
        ("٣%", 3.0),
        ("%", None),
    ],
)
def test_odd_percentages(answer: str, parsed: float | None) -> None:
    assert percentage(answer) == parsed


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
