"""Sums of log-probabilities with shared beginnings, against one plain forward pass of transformers a text."""

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
from nightjar.models.load import LanguageModel, load, prepare
from nightjar.models.score import Continued, continuation_sums, continued

DEMONSTRATIONS = "Definition: of a is in the Input. " * 8
PROMPTS = [
    DEMONSTRATIONS + "Input: one\nOutput:",
    DEMONSTRATIONS + "Input: another which is longer\nOutput:",
    "Quite another beginning:",
    DEMONSTRATIONS + "Input: one\nOutput:",
]
TEXTS = [" the", " the Example", " thermal", " Positive", " Not Sure"]


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


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
    asked = [[continued(lm.tokenizer, prompt, text) for text in TEXTS] for prompt in PROMPTS]
    found = dict(continuation_sums(lm, asked, most=most))
    assert sorted(found) == [0, 1, 2, 3]
    for number, prompt in enumerate(PROMPTS):
        wanted = [plain(tiny_model, prompt, text) for text in TEXTS]
        assert found[number] == pytest.approx(wanted, rel=1e-4)


def test_a_sum_depends_on_its_prompt_alone(lm: LanguageModel) -> None:
    asked = [[continued(lm.tokenizer, prompt, text) for text in TEXTS] for prompt in PROMPTS]
    whole = dict(continuation_sums(lm, asked))
    for wanted in ([2], [3, 1], []):
        assert dict(continuation_sums(lm, asked, wanted, most=7)) == {n: whole[n] for n in wanted}


def test_what_is_shared_is_read_once(lm: LanguageModel) -> None:
    asked = [[continued(lm.tokenizer, prompt, text) for text in TEXTS[:2]] for prompt in PROMPTS]
    tokens: list[int] = []
    hook = lm.model.register_forward_hook(
        lambda model, args, kwargs, result: tokens.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    try:
        dict(continuation_sums(lm, asked))
    finally:
        hook.remove()
    # The demonstrations once; passes are filled up to a multiple of 8.
    assert sum(tokens) < len(asked[0][0].ids) + sum(map(len, PROMPTS)) - 2 * len(DEMONSTRATIONS)


@given(st.text(max_size=12), st.text(min_size=1, max_size=12))
@settings(max_examples=60)
def test_the_pieces_are_those_of_the_whole_text(lm: LanguageModel, prompt: str, text: str) -> None:
    found = continued(lm.tokenizer, prompt, text)
    ids = lm.tokenizer.encode(prompt + text)
    assert list(found.ids) in (ids, [lm.tokenizer.end, *ids])
    assert 1 <= found.first < len(found.ids)
    before = lm.tokenizer.decode(list(found.ids[: found.first]))
    assert len(before) <= len(prompt) and (prompt.startswith(before) or "\ufffd" in before)


def test_a_text_after_nothing_follows_the_end_token(lm: LanguageModel) -> None:
    assert continued(lm.tokenizer, "", "the") == Continued((lm.tokenizer.end, *lm.tokenizer.encode("the")), 1)


def test_an_encoder_decoder_is_refused(tiny_t5: Path) -> None:
    with pytest.raises(NightjarError, match="needs a causal model"):
        next(continuation_sums(load(tiny_t5), []))
