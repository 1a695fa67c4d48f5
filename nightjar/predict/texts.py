"""Answers to the questions whose task is of the kind perplexity: the log-likelihood of a text."""

from __future__ import annotations

import time
from typing import Any

from nightjar.models.forward import causal_only
from nightjar.models.load import LanguageModel
from nightjar.models.score import text_loss
from nightjar.predict.answers import Asked
from nightjar.predict.predictor import NOTHING_WRITTEN


def window(lm: LanguageModel, most: int) -> int:
    """Tokens of a window: at most `most`, and not more than the model has positions.

    Raises NightjarError for an encoder-decoder.
    """
    causal_only(lm, "perplexity")
    return max(2, min(most, getattr(lm.model.config, "max_position_embeddings", most)))


def answer_text(lm: LanguageModel, asked: Asked, window: int) -> dict[str, Any]:
    """The answer "NLL TOKENS" to a text, in the columns of `answers.answering`. A text without tokens has no answer."""
    started = time.monotonic()
    ids = asked.ids[len(lm.tokenizer.begin) :]
    answers = [f"{text_loss(lm, ids, window):.6f} {len(ids)}"] if ids else []
    return {"answers": answers, **NOTHING_WRITTEN, "seconds": round(time.monotonic() - started, 6)}
