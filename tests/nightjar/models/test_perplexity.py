"""The likelihood of a text from windows, against one plain forward pass over every window's own tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.models.load import LanguageModel, load, prepare
from nightjar.models.score import text_loss, windows

TEXT = "Today is a text that is long enough for several windows, and it ends in the 12th of May. "


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


def plain_loss(lm: LanguageModel, ids: list[int], window: int) -> float:
    """Token by token: each is predicted from what its window holds before it."""
    text = [lm.tokenizer.end, *ids]
    loss = 0.0
    for place in range(1, len(text)):
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
    found = windows(length, window)
    scored = [place for _, first, end in found for place in range(first, end)]
    assert scored == list(range(1, length))
    for start, first, end in found:
        assert 0 <= start < first and end - start <= window
        # At least half a window of context, or all there is.
        assert start == 0 or first - start >= window // 2


def test_a_window_of_one_token() -> None:
    with pytest.raises(ValueError, match="a window of 1 tokens"):
        windows(5, 1)


@pytest.mark.parametrize("window", [2, 7, 16, 4096])
def test_losses_are_those_of_the_plain_version(lm: LanguageModel, window: int) -> None:
    ids = lm.tokenizer.encode(TEXT)
    assert len(ids) > 48
    assert text_loss(lm, ids, window) == pytest.approx(plain_loss(lm, ids, window), rel=1e-4)


def test_short_texts(lm: LanguageModel) -> None:
    assert text_loss(lm, [], 8) == 0.0
    (id,) = lm.tokenizer.encode("a")
    assert text_loss(lm, [id], 8) == pytest.approx(plain_loss(lm, [id], 8), rel=1e-5)


def test_an_encoder_decoder_is_refused(tiny_t5: Path) -> None:
    prepare(seed=0, threads=1)
    with pytest.raises(NightjarError, match="perplexity needs a causal model"):
        text_loss(load(tiny_t5), [5, 6], 8)
