"""ROUGE of one answer equals golden vectors and the rouge_score package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.text.unstemmed_rouge import ROUGE, rouge


def test_rouge_equals_the_golden_vectors(golden: Path) -> None:
    vectors = json.loads((golden / "zeroscrolls_metrics.json").read_text(encoding="utf-8"))
    for one in vectors["rouge"]["instances"]:
        found = [100 * value for value in rouge(one["prediction"], one["references"])]
        assert found == pytest.approx([one["max"][name] for name in ROUGE], abs=1e-9), one


@given(st.lists(st.text("abcA é1_ .\n-", max_size=40), min_size=2, max_size=4))
def test_rouge_equals_rouge_score(texts: list[str]) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(ROUGE), use_stemmer=False)
    each = [scorer.score(reference, texts[0]) for reference in texts[1:]]
    expected = [max(one[name].fmeasure for one in each) for name in ROUGE]
    assert rouge(texts[0], texts[1:]) == pytest.approx(expected, abs=1e-12)
