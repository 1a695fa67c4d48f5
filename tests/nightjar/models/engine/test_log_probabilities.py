"""Likelihoods of texts and of continuations, against a model that reads every text token by token."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer

from nightjar.core.errors import NightjarError
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import count_work, load
from nightjar.models.engine.log_probabilities import (
    Continuation,
    continuation_logprobs,
    continuation_sums,
    encode_continuation,
    logprobs_at,
    scoring_windows,
    text_loss,
)
from nightjar.models.tokenizer import like_length


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
    results = continuation_logprobs(lm, rows, most_tokens=9)
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


TEXT = "Today is a text that is long enough for several windows, and it ends in the 12th of May. "


def plain_loss(lm: LanguageModel, ids: list[int], window: int) -> float:
    """Token by token: each is predicted from what its window holds before it."""
    text = [*lm.tokenizer.begin, *ids]
    loss = 0.0
    for place in range(len(lm.tokenizer.begin) + 1, len(text)):
        # The window that scores it: the first, or the one whose second half it is in.
        if place < window:
            start = 0
        else:
            step = window // 2
            end = min(len(text), window + ((place - window) // step + 1) * step)
            start = end - window
        with torch.inference_mode():
            logits = lm.model(input_ids=torch.tensor([text[start:place]])).logits[0, -1].float()
        loss -= float(logits.log_softmax(-1)[text[place]])
    return loss


@given(st.integers(0, 300), st.integers(2, 64))
def test_every_token_but_the_first_is_scored_once(length: int, window: int) -> None:
    found = scoring_windows(length, window)
    scored = [place for _, first, end in found for place in range(first, end)]
    assert scored == list(range(1, length))
    for start, first, end in found:
        assert 0 <= start < first and end - start <= window
        # At least half a window of context, or all there is.
        assert start == 0 or first - start >= window // 2


def test_a_window_of_one_token() -> None:
    with pytest.raises(ValueError, match="a window of 1 tokens"):
        scoring_windows(5, 1)


@pytest.mark.parametrize("window", [2, 7, 16, 4096])
def test_losses_are_those_of_the_plain_version(lm: LanguageModel, window: int) -> None:
    ids = lm.tokenizer.encode(TEXT)
    assert len(ids) > 48
    assert text_loss(lm, ids, window) == pytest.approx(plain_loss(lm, ids, window), rel=1e-4)


def test_short_texts(lm: LanguageModel) -> None:
    ids = lm.tokenizer.encode("a b")
    assert text_loss(lm, [], 8) == text_loss(lm, ids[:1], 8) == 0.0
    assert text_loss(lm, ids[:2], 8) == pytest.approx(plain_loss(lm, ids[:2], 8), rel=1e-5) and len(ids) > 1


DEMONSTRATIONS = "Definition: of a is in the Input. " * 8
PROMPTS = [
    DEMONSTRATIONS + "Input: one\nOutput:",
    DEMONSTRATIONS + "Input: another which is longer\nOutput:",
    "Quite another beginning:",
    DEMONSTRATIONS + "Input: one\nOutput:",
]
TEXTS = [" the", " the Example", " thermal", " Positive", " Not Sure"]


@cache
def theirs(folder: Path) -> tuple[Any, Any]:
    """The tokenizer and the model, loaded by transformers."""
    return AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)


def plain(folder: Path, prompt: str, text: str) -> float:
    """Sum of log p of the pieces whose characters end behind the prompt, by transformers alone."""
    tokenizer, model = theirs(folder)
    made = tokenizer(
        prompt + text, return_offsets_mapping=True, return_tensors="pt", add_special_tokens=False
    )
    ids = made["input_ids"]
    with torch.inference_mode():
        table = model(input_ids=ids).logits[0].double().log_softmax(-1)
    own = [place for place, (_, end) in enumerate(made["offset_mapping"][0].tolist()) if end > len(prompt)]
    return sum(float(table[place - 1, ids[0, place]]) for place in own)


@pytest.mark.parametrize("most", [1, 60, 10_000])
def test_sums_of_whole_texts(lm: LanguageModel, tiny_model: Path, most: int) -> None:
    asked = [[encode_continuation(lm.tokenizer, prompt, text) for text in TEXTS] for prompt in PROMPTS]
    found = dict(continuation_sums(lm, asked, most_tokens=most))
    assert sorted(found) == [0, 1, 2, 3]
    for number, prompt in enumerate(PROMPTS):
        wanted = [plain(tiny_model, prompt, text) for text in TEXTS]
        assert found[number] == pytest.approx(wanted, rel=1e-4)


def test_a_sum_depends_on_its_prompt_alone(lm: LanguageModel) -> None:
    asked = [[encode_continuation(lm.tokenizer, prompt, text) for text in TEXTS] for prompt in PROMPTS]
    whole = dict(continuation_sums(lm, asked))
    for wanted in ([2], [3, 1], []):
        assert dict(continuation_sums(lm, asked, wanted, most_tokens=7)) == {n: whole[n] for n in wanted}


def test_what_is_shared_is_read_once(lm: LanguageModel) -> None:
    asked = [[encode_continuation(lm.tokenizer, prompt, text) for text in TEXTS[:2]] for prompt in PROMPTS]
    with count_work(lm) as work:
        dict(continuation_sums(lm, asked))
    # The demonstrations once; passes are filled up to a multiple of 8.
    assert work.tokens < len(asked[0][0].ids) + sum(map(len, PROMPTS)) - 2 * len(DEMONSTRATIONS)


@given(st.text(max_size=12), st.text(min_size=1, max_size=12))
@settings(max_examples=60)
def test_the_pieces_are_those_of_the_whole_text(lm: LanguageModel, prompt: str, text: str) -> None:
    found = encode_continuation(lm.tokenizer, prompt, text)
    ids = lm.tokenizer.encode(prompt + text)
    assert list(found.ids) in (ids, [lm.tokenizer.end, *ids])
    assert 1 <= found.first < len(found.ids)
    before = lm.tokenizer.decode(list(found.ids[: found.first]))
    assert len(before) <= len(prompt) and (prompt.startswith(before) or "\ufffd" in before)


def test_a_text_after_nothing_follows_the_end_token(lm: LanguageModel) -> None:
    assert encode_continuation(lm.tokenizer, "", "the") == Continuation(
        (lm.tokenizer.end, *lm.tokenizer.encode("the")), 1
    )


def test_an_encoder_decoder_compares_no_continuations(tiny_t5: Path) -> None:
    with pytest.raises(NightjarError, match="needs a causal model"):
        next(continuation_sums(load(tiny_t5), []))
