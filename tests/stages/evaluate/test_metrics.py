"""The metrics against the published evaluator's values and against the rouge_score package."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from stages.evaluate import metrics

WORDS = st.sampled_from(
    ["Nation", "nations", "nationally", "ties", "is", "It's", "café", "2,000", "北京", "", "a_b"]
)
SENTENCES = st.lists(WORDS, max_size=12).map(" ".join)
TEXTS = st.one_of(SENTENCES, st.text(max_size=30))
CASES = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=5)


class BpeTokens:
    """The cross-lingual tokens in the form that rouge_score asks for."""

    def tokenize(self, text: str) -> list[str]:
        return metrics.bpe_tokens(text)


def test_golden(golden: Path) -> None:
    cases = json.loads((golden / "sni_em_rougeL.json").read_text())["cases"]
    predictions, references = [case["prediction"] for case in cases], [case["references"] for case in cases]
    plain = metrics.score(predictions, references)
    crossing = metrics.score(predictions, references, metrics.XLINGUAL)
    for number, case in enumerate(cases):
        assert metrics.normalise(case["prediction"]) == case["normalized_prediction"]
        assert metrics.bpe_tokens(case["prediction"]) == case["xlingual_prediction_tokens"]
        assert plain.exact_match[number] == crossing.exact_match[number] == case["exact_match"]
        assert plain.rouge1[number] == pytest.approx(case["rouge1"], abs=1e-12)
        assert plain.rougeL[number] == pytest.approx(case["rougeL"], abs=1e-12)
        assert crossing.rouge1[number] == pytest.approx(case["xlingual_rouge1"], abs=1e-12)
        assert crossing.rougeL[number] == pytest.approx(case["xlingual_rougeL"], abs=1e-12)


@settings(deadline=None)
@given(CASES, st.booleans())
def test_equal_to_rouge_score(cases: list[tuple[str, list[str]]], crossing: bool) -> None:
    predictions, references = [case[0] for case in cases], [case[1] for case in cases]
    scorer = (
        rouge_scorer.RougeScorer(["rouge1", "rougeL"], tokenizer=BpeTokens())
        if crossing
        else rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
    )
    ours = metrics.score(predictions, references, metrics.XLINGUAL if crossing else "default")
    for number, (prediction, group) in enumerate(cases):
        theirs = [scorer.score(reference, prediction) for reference in group]
        # Not approximately: the same operations in the same order.
        assert ours.rouge1[number] == max(one["rouge1"].fmeasure for one in theirs)
        assert ours.rougeL[number] == max(one["rougeL"].fmeasure for one in theirs)


def test_maximum_is_taken_for_each_metric() -> None:
    scores = metrics.score(["a b c d"], [["d c b a", "a b x y z v"]])
    assert scores.rouge1.tolist() == [1.0]
    assert scores.rougeL.tolist() == [pytest.approx(2 * 0.5 * (1 / 3) / (0.5 + 1 / 3))]


@given(st.lists(st.sampled_from(list("abc")), max_size=8), st.lists(st.sampled_from(list("abc")), max_size=8))
def test_rouge1_counts_words_as_often_as_both_have_them(ours: list[str], theirs: list[str]) -> None:
    shared = sum((Counter(ours) & Counter(theirs)).values())
    expected = 2 * shared / (len(ours) + len(theirs)) if shared else 0.0
    assert metrics.score([" ".join(ours)], [[" ".join(theirs)]]).rouge1[0] == pytest.approx(expected)


def test_texts_of_other_scripts() -> None:
    scores = metrics.score(["北京", "北京"], [["北京"], ["北京。"]])
    assert scores.exact_match.tolist() == [1.0, 0.0]  # a Chinese full stop is not ASCII punctuation
    assert scores.rougeL.tolist() == [0.0, 0.0]  # no token at all
    assert metrics.score(["北京"], [["北京"]], metrics.XLINGUAL).rougeL.tolist() == [1.0]


def test_articles_stay_and_case_goes() -> None:
    assert metrics.normalise(" The  U.S. \n dollar!") == "the us dollar"
    assert metrics.score(["the cat"], [["cat"]]).exact_match[0] == 0.0


def test_bpe_tokens_lose_their_leading_blank() -> None:
    assert metrics.bpe_tokens("Hello world  x") == ["Hello", "world", "", "x"]
    ids = metrics.bpe_ids(["Hello world", " world"])
    assert ids["Hello world"][1:] == ids[" world"]


def test_no_prediction_or_no_reference() -> None:
    assert metrics.score([], []).rougeL.dtype == np.float64
    with pytest.raises(ValueError, match="at least one reference"):
        metrics.score(["a"], [[]])
