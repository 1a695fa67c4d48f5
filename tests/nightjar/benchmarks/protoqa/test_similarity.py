"""Similarities and tokens against the published ones."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from nightjar.benchmarks.protoqa.similarity import (
    STOP_WORDS,
    WordNetSimilarity,
    longest_common_subsequence,
    longest_common_substring,
    tokens,
    wordnet_similarity,
)
from nightjar.benchmarks.protoqa.wordnet import wordnet


@pytest.fixture(scope="module")
def pairs(golden: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((golden / "protoqa_wordnet_pairs.json").read_text("utf-8"))[
        "pairs"
    ]
    return found


def test_golden_pairs(pairs: list[dict[str, Any]]) -> None:
    similarity = wordnet_similarity()
    for pair in pairs:
        of = pair["pred"], pair["true"]
        assert similarity(*of) == pytest.approx(pair["wordnet_score"], abs=1e-12)
        assert np.round(similarity(*of)) == pair["hard"]
        if pair["lc_substring"] is not None:
            assert longest_common_substring(*of) == pytest.approx(pair["lc_substring"], abs=1e-12)
            assert longest_common_subsequence(*of) == pytest.approx(pair["lc_subsequence"], abs=1e-12)


@pytest.mark.parametrize(
    ("answer", "string", "expected"),
    [
        ("jump", "startle", 1),
        ("gum", "chewing gum", 1),
        ("oov plant", "oov flora", 1),
        ("ear muffs", "ear wax", 0.5),
        ("cell phone", "mobile phone", 0.5),
        ("police", "cop", 0),
        ("10", "ten", 1),
        ("toothbrush", "tooth brush", 0),
        ("crying baby", "baby crying", 1),
        ("red wine glass", "glass of red wine", 1),
        ("sun hat", "hat", 0.5),
        ("", "", 1),
        ("the of", "a an", 1),
        ("", "cat", 0),
    ],
)
def test_known_values(answer: str, string: str, expected: float) -> None:
    assert wordnet_similarity()(answer, string) == wordnet_similarity()(string, answer) == expected


WORDS = (
    "cat",
    "dog",
    "ice",
    "cream",
    "hot",
    "hound",
    "frankfurter",
    "kitten",
    "dogs",
    "glacé",
    "new",
    "york",
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


def partitions(words: tuple[str, ...]) -> list[list[str]]:
    n = len(words)
    cuts = [(0, *cut, n) for size in range(n) for cut in combinations(range(1, n), size)]
    return [[" ".join(words[i:j]) for i, j in pairwise(cut)] for cut in cuts]


def brute_force(answer: str, string: str, similarity: Callable[[str, str], float]) -> float:
    """The maximum over all pairs of partitions."""
    best = 0.0
    for groups, others in product(partitions(tokens(answer)), partitions(tokens(string))):
        matrix = np.array([[similarity(one, other) for other in others] for one in groups])
        rows, columns = linear_sum_assignment(-matrix)
        best = max(best, matrix[rows, columns].sum() / max(matrix.shape))
    return best


@given(TEXTS, TEXTS)
def test_equals_the_maximum_over_all_pairs_of_partitions(answer: str, string: str) -> None:
    def matches(one: str, other: str) -> float:
        return float(one == other or bool(set(wordnet().synsets(one)) & set(wordnet().synsets(other))))

    expected = brute_force(answer, string, matches)
    assert wordnet_similarity()(answer, string) == pytest.approx(expected, abs=1e-12)


def test_a_string_of_more_than_twenty_tokens_is_compared_as_a_whole_and_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    similarity = WordNetSimilarity(wordnet())
    words = [f"word{number}" for number in range(21)]
    long = " ".join(words)
    with caplog.at_level(logging.WARNING, "nightjar"):
        assert similarity(long, long) == 1.0
        assert similarity(long, f"the {long}") == 1.0
        assert similarity(long, " ".join(words[1:])) == 0.0
        assert similarity("word1", long) == 0.0
    assert similarity.limited == {long, f"the {long}"}
    assert len(caplog.records) == 2
    assert "21 tokens, more than 20: it is compared as a whole" in caplog.text
    by_parts = WordNetSimilarity(wordnet())
    assert by_parts(" ".join(words[:20]), " ".join([*words[10:20], *words[1:10], "other"])) == 19 / 20
    assert by_parts.limited == set()


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
