"""Scores from shared prefixes and padded batches against one plain forward pass a row."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from nightjar.lm.forward import prefill
from nightjar.lm.load import LanguageModel, load, prepare
from nightjar.lm.score import continuation_logprobs, token_probabilities


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


def plain_logprobs(lm: LanguageModel, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        logits: torch.Tensor = lm.model(input_ids=torch.tensor([ids])).logits[0].float()
    return logits.log_softmax(-1)


def test_token_probabilities_with_and_without_a_shared_prefix(lm: LanguageModel) -> None:
    head = lm.tokenizer.encode("Your task is to add calls. Input: ")
    context = [*head, *lm.tokenizer.encode("the text\nOutput:")]
    text = lm.tokenizer.encode(" the sum of 3 and 4 is 7")
    token = lm.tokenizer.encode(" [")[0]
    everything = plain_logprobs(lm, [*context, *text]).exp()
    wanted = [float(everything[len(context) - 1 + place, token]) for place in range(len(text))]
    assert token_probabilities(lm, context, text, token)[0] == pytest.approx(wanted, rel=1e-4)
    base = prefill(lm, head)
    assert token_probabilities(lm, context, text, token, base)[0] == pytest.approx(wanted, rel=1e-4)
    # The prefix is not used up: a second call gives the same.
    assert token_probabilities(lm, context, text, token, base)[0] == pytest.approx(wanted, rel=1e-4)


def test_continuation_logprobs_of_uneven_rows(lm: LanguageModel) -> None:
    rows = [
        (lm.tokenizer.encode("a b c"), lm.tokenizer.encode(" d e")),
        (lm.tokenizer.encode("x"), lm.tokenizer.encode(" something rather longer than the rest")),
        (lm.tokenizer.encode("one two three four five six"), lm.tokenizer.encode("!")),
        (lm.tokenizer.encode("empty"), []),
    ]
    results = continuation_logprobs(lm, rows, batch_size=2)
    for (context, continuation), result in zip(rows, results, strict=True):
        table = plain_logprobs(lm, [*context, *continuation])
        wanted = [float(table[len(context) - 1 + place, token]) for place, token in enumerate(continuation)]
        assert result == pytest.approx(wanted, rel=1e-4)
