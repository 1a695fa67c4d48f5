"""Windows over texts that are longer than the model, or the user, allows, and the places in a text for a call."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from nightjar.tools.filter import WINDOW, Tokens
from nightjar.tools.tool import Text

# One token in so many of a window repeats the end of the window before: its first calls have words on their left.
OVERLAP = 4
# Marks that may be behind the mark that ends a sentence.
CLOSING = "\"'”’)]"


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


def before_name(spaced: str, offsets: Sequence[int]) -> list[bool]:
    """Of each token, whether a name or a number begins with it, or with the blank that it is or has in front.

    A name is a run of words with a capital first letter. The first word of a sentence is none: its capital says
    nothing. Marks in front of a word, such as quotes, belong to it, and a mark at the end of a word ends a name.
    """
    starts: set[int] = set()
    tokens, in_name, sentence_ended = set(offsets), False, True
    for word in re.finditer(r"\S+", spaced):
        letter = next(filter(str.isalnum, word.group()), "")
        begins_name = letter.isupper() or letter.isdigit()
        if begins_name and not in_name and not sentence_ended:
            blank = word.start() - 1
            starts.add(blank if blank in tokens else word.start())
        in_name = begins_name and word.group()[-1].isalnum()
        sentence_ended = word.group().rstrip(CLOSING).endswith((".", "!", "?"))
    return [start in starts for start in offsets]
