"""The metrics against the published evaluator's values and against the rouge_score package."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.prompts import gpt2_bpe
from nightjar.text import rouge, token_sequences

WORDS = st.sampled_from(
    ["Nation", "nations", "nationally", "ties", "is", "It's", "café", "2,000", "北京", "", "a_b"]
)
SENTENCES = st.lists(WORDS, max_size=12).map(" ".join)
TEXTS = st.one_of(SENTENCES, st.text(max_size=30))
CASES = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=5)


class BpeTokens:
    """The cross-lingual tokens in the form that rouge_score asks for."""

    def tokenize(self, text: str) -> list[str]:
        found = gpt2_bpe.load().encode(text, add_special_tokens=False).tokens
        return [token.lstrip("Ġ") for token in found]


def test_golden(golden: Path) -> None:
    cases = json.loads((golden / "sni_em_rougeL.json").read_text())["cases"]
    predictions, references = [case["prediction"] for case in cases], [case["references"] for case in cases]
    plain = rouge.score(predictions, references)
    crossing = rouge.score(predictions, references, rouge.XLINGUAL)
    for number, case in enumerate(cases):
        assert rouge.normalise(case["prediction"]) == case["normalized_prediction"]
        assert BpeTokens().tokenize(case["prediction"]) == case["xlingual_prediction_tokens"]
        assert plain.exact_match[number] == crossing.exact_match[number] == case["exact_match"]
        assert plain.rouge1[number] == pytest.approx(case["rouge1"], abs=1e-12)
        assert plain.rougeL[number] == pytest.approx(case["rougeL"], abs=1e-12)
        assert crossing.rouge1[number] == pytest.approx(case["xlingual_rouge1"], abs=1e-12)
        assert crossing.rougeL[number] == pytest.approx(case["xlingual_rougeL"], abs=1e-12)


@settings(deadline=None)
@given(CASES, st.booleans())
def test_equal_to_rouge_score(cases: list[tuple[str, list[str]]], crossing: bool) -> None:
    from rouge_score import rouge_scorer

    predictions, references = [case[0] for case in cases], [case[1] for case in cases]
    scorer = (
        rouge_scorer.RougeScorer(["rouge1", "rougeL"], tokenizer=BpeTokens())
        if crossing
        else rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
    )
    ours = rouge.score(predictions, references, rouge.XLINGUAL if crossing else "default")
    for number, (prediction, group) in enumerate(cases):
        theirs = [scorer.score(reference, prediction) for reference in group]
        # Not approximately: the same operations in the same order.
        assert ours.rouge1[number] == max(one["rouge1"].fmeasure for one in theirs)
        assert ours.rougeL[number] == max(one["rougeL"].fmeasure for one in theirs)


def test_texts_of_other_scripts() -> None:
    scores = rouge.score(["北京", "北京"], [["北京"], ["北京。"]])
    assert scores.exact_match.tolist() == [1.0, 0.0]  # a Chinese full stop is not ASCII punctuation
    assert scores.rougeL.tolist() == [0.0, 0.0]  # no token at all
    assert rouge.score(["北京"], [["北京"]], rouge.XLINGUAL).rougeL.tolist() == [1.0]


def test_articles_stay_and_case_goes() -> None:
    assert rouge.normalise(" The  U.S. \n dollar!") == "the us dollar"
    assert rouge.score(["the cat"], [["cat"]]).exact_match[0] == 0.0


def test_no_prediction_or_no_reference() -> None:
    assert rouge.score([], []).rougeL.dtype == np.float64
    with pytest.raises(NightjarError, match="at least one reference"):
        rouge.score(["a"], [[]])


def many(count: int) -> tuple[list[str], list[list[str]]]:
    words = ["Nation", "nationally", "ties", "café", "北京", "\ud800", "2,000", "the", "", "a_b", "\n"]
    source = random.Random(3)

    def text() -> str:
        return " ".join(source.choices(words, k=source.randint(0, 9)))

    return [text() for _ in range(count)], [
        [text() for _ in range(source.randint(1, 3))] for _ in range(count)
    ]


def test_chunks_change_nothing() -> None:
    answers, references = many(300)
    whole = rouge.score(answers, references)
    parts = rouge.score(answers, references, letters=400)
    for name in rouge.METRICS:
        assert np.array_equal(getattr(whole, name), getattr(parts, name))
    assert 0 < whole.rougeL.mean() < whole.rouge1.mean() < 1


def test_more_words_than_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, references = many(40)
    plain = rouge.score(answers, references)
    monkeypatch.setattr(token_sequences, "_CHARACTERS", 2)
    assert np.array_equal(rouge.score(answers, references).rouge1, plain.rouge1)
