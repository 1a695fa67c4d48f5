"""Ranked lists against the steps of ProtoQA_GPT2's run_generation.py, one after another, and by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.protoqa.questions import QUESTION_SET, answer_of
from nightjar.core.config import checked
from nightjar.core.errors import NightjarError
from nightjar.params import load as load_params
from nightjar.params.predict import PredictBenchmark

PARAMS = load_params(Path(__file__).parents[4] / "params.yaml")
# Few words; two of them are stop words in lower case.
TEXTS = st.lists(st.sampled_from([" ", ".", "the", "The", "no", "dog", "cat", "\n", " to", ""])).map("".join)


def settings(cut: bool = True, **changes: Any) -> PredictBenchmark:
    known = PARAMS.predict.benchmark("tool_use").model_dump()
    return checked(PredictBenchmark, known | {"cut_at_full_stop": cut} | changes, "test")


def published(text: str, stop_words: set[str]) -> str:
    """The steps as the published code takes them."""
    text = text[: text.find(".") + 1]
    text = text.strip()
    if text and text[-1] == ".":
        text = text[:-1]
    return " ".join([word for word in text.split(" ") if word not in stop_words])


@given(TEXTS)
def test_answers_as_published(text: str) -> None:
    stop_words = {"the", "to", "no"}
    assert answer_of(text, required=True) == published(text, stop_words)
    # Without the rule they differ only where there is no full stop.
    assert answer_of(text) == published(text if "." in text else f"{text.strip()}.", stop_words)


def test_stop_words_are_those_of_the_published_list(golden: Path) -> None:
    words = json.loads((golden / "protoqa_wordnet_pairs.json").read_text(encoding="utf-8"))["stopwords"]
    assert len(words) == 179
    for word in words:
        assert answer_of(f" the dog {word} cat.") == "dog cat"
    for word in ("he'd", "we'll", "The", "dog"):  # 198 words have the first two
        assert answer_of(f" {word}.") == word


def test_an_answer_that_is_not_cut() -> None:
    assert answer_of(" 3.5 miles. Then", cut=False) == "3.5 miles. Then"
    assert answer_of(" 3.5 miles.", cut=False) == "3.5 miles"


@given(st.lists(TEXTS, max_size=30), st.integers(1, 6), st.booleans())
def test_lists_are_the_most_common_answers(texts: list[str], keep: int, required: bool) -> None:
    answers = [answer_of(text, required=required) for text in texts]
    counts = Counter(one for one in answers if one.strip() or required)
    wanted = counts.most_common(keep)  # Counter: ties by first appearance
    found = QUESTION_SET.rank_answers(
        [(text, 1) for text in texts], settings(keep=keep, require_full_stop=required)
    )
    assert found == wanted
    # The same from the different texts with the number of times of each.
    assert (
        QUESTION_SET.rank_answers(Counter(texts).items(), settings(keep=keep, require_full_stop=required))
        == wanted
    )


def test_weights_are_summed_by_answer() -> None:
    texts = [("a dog.", 1.5), ("cat.", 2.0), ("the dog", 1.0), ("", 9.0)]
    assert QUESTION_SET.rank_answers(texts, settings()) == [("dog", 2.5), ("cat", 2.0)]
    required = settings(require_full_stop=True)
    assert QUESTION_SET.rank_answers(texts, required) == [
        ("", 10.0),
        ("cat", 2.0),
        ("dog", 1.5),
    ]
    assert QUESTION_SET.rank_answers(texts, settings(keep=1)) == [("dog", 2.5)]
    assert QUESTION_SET.rank_answers([], settings()) == []


def test_the_rule_is_for_answers_that_are_cut() -> None:
    with pytest.raises(NightjarError, match="require_full_stop is for answers that are cut"):
        settings(cut=False, require_full_stop=True)
