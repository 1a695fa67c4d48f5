"""A tokenizer that caches the parts that prompts of a task share, and gives exactly the ids of the one it wraps.

The instances of a task share definition and examples, and the published length checks read the same instance again
with one more example each time. Joining ids of parts is not exact in general, because tokens merge where texts meet.
Here it is: GPT-2's pattern never lets a token reach from a line end into a letter, or into a blank with a letter
behind it, and it looks ahead by one character only, to tell whether blanks are followed by text. So a text can be cut
there; the part before the cut is read with one letter (or blank and letter) behind it, whose id is dropped.
"""

from __future__ import annotations

import json
import re
from array import array
from functools import lru_cache

import tokenizers

from nightjar.prompts.encoding import CUE, Tokenizer

# Where the parts of a prompt begin, and the cue, with which prompts end in two ways.
_CUT = re.compile(
    rf"(?<=\n)(?=(?: Positive Example | Negative Example |Evidence 1 - |{re.escape(CUE)}\n|Output: ?\Z))"
)
_BEHIND = {"": "", " ": " N", "x": "N"}
# Parts are cached as 4 bytes a token; the parts of one task and instance are some twenty.
_PARTS = 512


class PrefixCachingTokenizer:
    """A Tokenizer whose `encode` and `decode` are those of `tokenizer`; see `with_prefix_cache`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self._begin = tokenizer, tokenizer.encode("")
        self._part = lru_cache(maxsize=_PARTS)(self._read)

    def encode(self, text: str) -> list[int]:
        ids = list(self._begin)
        parts = _CUT.split(text)
        for part, following in zip(parts, [*parts[1:], ""], strict=True):
            kind = "" if not following else " " if following[0] == " " else "x"
            ids.extend(self._part(part, kind))
        return ids

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids)

    def _read(self, part: str, kind: str) -> array[int]:
        ids = self._tokenizer.encode(part + _BEHIND[kind])[len(self._begin) :]
        return array("i", ids[:-1] if kind else ids)


def with_prefix_cache(tokenizer: Tokenizer, backend: tokenizers.Tokenizer) -> Tokenizer:
    """`tokenizer` with a cache of prefixes if its rules, those of `backend`, are such that the ids stay the same.

    They are for byte-level BPE with GPT-2's pattern and nothing before it (GPT-2, SmolLM2). Any other tokenizer
    comes back as it is.
    """
    if backend.normalizer is not None or backend.pre_tokenizer is None or backend.truncation is not None:
        return tokenizer
    rules = json.loads(backend.pre_tokenizer.__getstate__())
    expected = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
    if any(rules.get(key) != value for key, value in expected.items()):
        return tokenizer
    if not isinstance(backend.model, tokenizers.models.BPE) or backend.model.dropout:
        return tokenizer
    for token in backend.get_added_tokens_decoder().values():
        if "\n" in token.content or token.lstrip or token.rstrip or token.single_word:
            return tokenizer
    # Nothing is added behind a text, and each mark is one id.
    begin = tokenizer.encode("")
    if any(tokenizer.encode(mark)[:-1] != begin for mark in ("N", " N")):
        return tokenizer
    return PrefixCachingTokenizer(tokenizer)
