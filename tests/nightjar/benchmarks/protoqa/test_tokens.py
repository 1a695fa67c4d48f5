"""Tokens against those of the published evaluator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightjar.benchmarks.protoqa.similarity import STOP_WORDS, tokens


def test_golden_stop_words_and_tokens(golden: Path) -> None:
    known = json.loads((golden / "protoqa_wordnet_pairs.json").read_text("utf-8"))
    assert set(known["stopwords"]) == STOP_WORDS
    assert len(STOP_WORDS) == 179
    for pair in known["pairs"]:
        assert list(tokens(pair["pred"])) == pair["pred_tokens"]
        assert list(tokens(pair["true"])) == pair["true_tokens"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("  ", ()),
        ("the of", ()),
        ("The of", ("The",)),
        ("don't know", ("n't", "know")),
        ("it hurts. go home", ("hurts", ".", "go", "home")),
        ("stop! go", ("stop", "!", "go")),
        ("st. patrick's day", ("st.", "patrick", "'s", "day")),
        ("john f. kennedy", ("john", "f.", "kennedy")),
        ("home.", ("home", ".")),
        ("climbing mt. everest", ("climbing", "mt", ".", "everest")),
        ("j.c. penney", ("j.c.", "penney")),
    ],
)
def test_tokens(text: str, expected: tuple[str, ...]) -> None:
    assert tokens(text) == expected
