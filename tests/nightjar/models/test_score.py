"""Scores from padded batches against one plain forward pass a row."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nightjar.models.load import LanguageModel, load, prepare
from nightjar.models.score import continuation_logprobs, like_length, logprobs_at


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


def plain_logprobs(lm: LanguageModel, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        logits: torch.Tensor = lm.model(input_ids=torch.tensor([ids])).logits[0].float()
    return logits.log_softmax(-1)


def test_continuation_logprobs_of_uneven_rows(lm: LanguageModel) -> None:
    rows = [
        (lm.tokenizer.encode("a b c"), lm.tokenizer.encode(" d e")),
        (lm.tokenizer.encode("x"), lm.tokenizer.encode(" something rather longer than the rest")),
        (lm.tokenizer.encode("one two three four five six"), lm.tokenizer.encode("!")),
        (lm.tokenizer.encode("empty"), []),
    ]
    results = continuation_logprobs(lm, rows, most=9)
    for (context, continuation), result in zip(rows, results, strict=True):
        table = plain_logprobs(lm, [*context, *continuation])
        wanted = [float(table[len(context) - 1 + place, token]) for place, token in enumerate(continuation)]
        assert result == pytest.approx(wanted, rel=1e-4)


def test_logprobs_at_places_of_uneven_rows(lm: LanguageModel) -> None:
    text = lm.tokenizer.encode("Some of the words of a text are wanted")
    rows = [(text, [3, 4, 9]), (text[:5], [1]), (text, [len(text) - 1]), (text, []), (text[:12], [11, 2])]
    table = plain_logprobs(lm, text)
    for tokens in (1, 30, 1000):
        for (_, places), values in zip(rows, logprobs_at(lm, rows, tokens), strict=True):
            assert values == pytest.approx(
                [float(table[place - 1, text[place]]) for place in places], rel=1e-4
            )
    assert logprobs_at(lm, []) == [] and logprobs_at(lm, [(text, [])]) == [[]]


def test_the_model_reads_a_row_up_to_its_last_place_alone(lm: LanguageModel) -> None:
    """And its vocabulary is applied at the wanted places alone."""
    text, seen = lm.tokenizer.encode("Some of the words of a text are wanted"), []
    hook = lm.model.register_forward_hook(
        lambda model, args, kwargs, result: seen.append((kwargs["input_ids"].shape, result.logits.shape[1])),
        with_kwargs=True,
    )
    try:
        logprobs_at(lm, [(text, [4, 6]), (text, [6])])
    finally:
        hook.remove()
    assert seen == [((2, 6), 2)]


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200))
def test_batches_of_like_length(lengths: list[int], most: int) -> None:
    batches = like_length(lengths, most)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert [lengths[row] for batch in batches for row in batch] == sorted(lengths)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= most
