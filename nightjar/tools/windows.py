"""Windows over texts that are longer than the model, or the user, allows."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from nightjar.tools.filter import WINDOW, Tokens
from nightjar.tools.tool import Text

# One token in so many of a window repeats the end of the window before: its first calls have words on their left.
OVERLAP = 4


@dataclass(frozen=True)
class Window:
    """The tokens `begin` to `last` of a body; calls are sampled from token `first` on."""

    begin: int
    first: int
    last: int


@dataclass(frozen=True)
class TextWindow:
    """A window of the text numbered `text`: `prompt_text` is its part of the prompt, `tokens` are what the model reads.

    The body of `tokens` has up to `WINDOW` - 1 tokens behind the window: losses look at them.
    """

    text: int
    window: Window
    prompt_text: str
    tokens: Tokens

    @property
    def body(self) -> list[int]:
        """The ids of the window alone."""
        return self.tokens.body[: self.window.last - self.window.begin]


def windows(count: int, limit: int) -> list[Window]:
    """Windows of at most `limit` tokens over `count` tokens, in order; calls are sampled at a token in one of them."""
    spans = [Window(0, 0, min(count, limit))] if count else []
    while spans and spans[-1].last < count:
        first = spans[-1].last
        begin = first - limit // OVERLAP
        spans.append(Window(begin, first, min(count, begin + limit)))
    return spans


def pieces(number: int, text: Text, tokens: Tokens, limit: int) -> list[TextWindow]:
    """The windows of the text with that number, of at most `limit` tokens each. All have the text's context."""
    spaced = f" {text.body}"
    ends = [*tokens.offsets, len(spaced)]
    text_pieces = []
    for window in windows(len(tokens.body), limit):
        part = spaced[ends[window.begin] : ends[window.last]].strip()
        behind = window.last + WINDOW - 1
        window_tokens = Tokens(
            tokens.context, tokens.body[window.begin : behind], tokens.offsets[window.begin : behind]
        )
        text_pieces.append(TextWindow(number, window, f"{text.context} {part}".strip(), window_tokens))
    return text_pieces


def inside_character(spaced: str, offsets: Sequence[int]) -> list[bool]:
    """Of each token, whether it begins inside of a character, as a person sees it: no call can be there."""
    before = [-1, *offsets]
    return [
        start == previous or unicodedata.category(spaced[start])[0] == "M"
        for previous, start in zip(before, offsets, strict=False)
    ]
