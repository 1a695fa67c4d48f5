"""The likelihood of running texts of any length: overlapping windows, so that no text is cut."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nightjar.core.errors import NightjarError
from nightjar.models.forward import causal_only
from nightjar.models.load import LanguageModel
from nightjar.models.score import continuation_logprobs


def windows(length: int, window: int, given: int = 1) -> list[tuple[int, int, int]]:
    """(start, first, end) of every window over `length` tokens: those from start are read, those from first scored.

    Each token but the first `given` is scored once. A window has at most `window` tokens; after the first one, half of
    them are context. Raises ValueError for windows that have no token to score.
    """
    if window <= given:
        raise ValueError(f"a window of {window} tokens has nothing to score")
    found, first = list[tuple[int, int, int]](), given
    while first < length:
        end = min(length, first + window // 2 if found else window)
        found.append((max(0, end - window), first, end))
        first = end
    return found


def text_loss(lm: LanguageModel, ids: Sequence[int], window: int) -> float:
    """The sum of -ln p of all tokens of a text, in nats; 0.0 for no tokens.

    `ids` are those of `Tokenizer.continuation`. The first token follows what the tokenizer puts before a text, or the
    end-of-text token, as a document does in a stream of documents. Others follow at least window // 2 tokens, or all
    that are before them; see `windows`. Perplexity is exp(loss / len(ids)).

    Raises NightjarError for an encoder-decoder, and for a model that gives a token no probability.
    """
    causal_only(lm, "perplexity")
    before = lm.tokenizer.before_text
    text = [*before, *ids]
    places = windows(len(text), window, len(before))
    rows = [(text[start:first], text[first:end]) for start, first, end in places]
    # One at a time: the logits of a window take tokens x vocabulary.
    loss = -math.fsum(logprob for row in continuation_logprobs(lm, rows, 1) for logprob in row)
    if not math.isfinite(loss):
        raise NightjarError(
            "the model gives a token no probability", "models.language_model", "use another model"
        )
    return loss + 0.0
