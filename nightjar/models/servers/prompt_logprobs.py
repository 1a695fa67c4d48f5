"""The log-probabilities of a given text in the answer of a completions server: two ways to ask, and how each is read.

An answer counts only if its tokens are those of the text, each at its place: some servers give those of the text that
they wrote.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class ScoredToken(NamedTuple):
    """A token of a text: where its characters end, and its log-probability; the first may have none."""

    end: int
    logprob: float | None


class LogprobRequest(NamedTuple):
    """A way to ask for the log-probabilities of a prompt: parameters, key in the answer, and what reads them."""

    parameters: Mapping[str, Any]
    key: str
    read: Callable[[Any, str], list[ScoredToken] | None]


def _echoed(value: Any, text: str) -> list[ScoredToken] | None:
    """The pieces of `logprobs` of an answer that repeats its prompt; None if they are not there."""
    if not isinstance(value, dict):
        return None
    lists: list[Any] = [value.get(name) for name in ("text_offset", "tokens", "token_logprobs")]
    if not all(isinstance(it, list) for it in lists) or len({len(it) for it in lists}) != 1:
        return None
    starts, tokens, logprobs = lists
    if not all(type(start) is int for start in starts) or starts != sorted(starts) or starts[:1] != [0]:
        return None
    # The server wrote one token at most, which begins behind the text. Generated text has a value at its first token.
    if starts[-1] > len(text) or logprobs[0] is not None:
        return None
    ends = [*starts[1:], len(text)]
    rows = [row for row in zip(starts, ends, tokens, logprobs, strict=True) if row[0] < len(text)]
    if not all(_is_piece(text[start:end], token, text) for start, end, token, _ in rows):
        return None
    # A part of a character ends where the character does.
    return _pieces([(max(end, start + 1), logprob) for start, end, _, logprob in rows])


def _is_piece(piece: str, token: Any, text: str) -> bool:
    """Return True if a token is this piece of a text.

    Of a character beyond ASCII it may be a part, which no text can show.
    """
    if not isinstance(token, str):
        return False
    if not piece:
        return not text.isascii()
    return piece == token or not piece.isascii()


def _prompt_logprobs(value: Any, text: str) -> list[ScoredToken] | None:
    """The pieces of vLLM's `prompt_logprobs`: for each token an object with one entry, null for the first."""
    if not isinstance(value, list) or not value or value[0] is not None:
        return None
    if not all(isinstance(entry, dict) and entry for entry in value[1:]):
        return None
    tokens = [next(iter(entry.values())) for entry in value[1:]]
    if not all(isinstance(token, dict) and isinstance(token.get("decoded_token"), str) for token in tokens):
        return None
    decoded = "".join(token["decoded_token"] for token in tokens)
    if not text.endswith(decoded):
        return None
    end = len(text) - len(decoded)
    ends: list[tuple[int, Any]] = [(end, None)] if end else []
    for token in tokens:
        end += len(token["decoded_token"])
        ends.append((end, token.get("logprob")))
    return _pieces(ends)


def _pieces(ends: Sequence[tuple[int, Any]]) -> list[ScoredToken] | None:
    """The pieces; None if one has no log-probability, other than the first, or one above 0."""
    for place, (_, logprob) in enumerate(ends):
        if not (is_number(logprob) and logprob <= 0) and (place or logprob is not None):
            return None
    return [ScoredToken(*piece) for piece in ends]


def is_number(value: Any) -> bool:
    """Return True for a finite number of JSON."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# That of OpenAI (llama.cpp, TGI, vLLM), and that of vLLM alone.
WAYS = (
    LogprobRequest({"echo": True, "logprobs": 1}, "logprobs", _echoed),
    LogprobRequest({"prompt_logprobs": 0}, "prompt_logprobs", _prompt_logprobs),
)
