"""The text of a sequence whose tokens are added one by one.

A token's text can depend on those before it: a character may have several tokens, and a decoder may treat the first
token of a text in another way. So a few tokens before the new ones are decoded again, and how much longer that makes
their text is what was added: the text of all tokens, at a cost that does not grow with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from nightjar.models.tokenizer import Tokenizer

# What a decoded text ends with while its last character is not complete.
PARTIAL = "\N{REPLACEMENT CHARACTER}"
# Tokens that are decoded again at most, where characters are complete.
AGAIN = 8


class Detokeniser:
    """The text of ids that are added one by one, or several at once.

    The text of the first `settled` ids does not change any more; decoding begins with the ids from `anchor` on, which
    is at least one token earlier.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.ids: list[int] = []
        self.text = ""
        self._clear()

    def _clear(self) -> None:
        self.anchor = self.settled = 0
        self._before, self._overlap = "", ""

    @property
    def settled_length(self) -> int:
        """Characters of the text that will not change, whatever follows."""
        return len(self._before)

    def add(self, ids: Sequence[int]) -> str:
        """The text of all ids so far, with these."""
        self.ids += ids
        window = self.tokenizer.decode(self.ids[self.anchor :])
        self.text = self._before + window[len(self._overlap) :]
        if len(self.ids) - self.settled >= AGAIN and self._complete(window):
            self.anchor, self.settled = self.settled, len(self.ids)
            self._before = self.text
            self._overlap = self.tokenizer.decode(self.ids[self.anchor :])
        return self.text

    def _complete(self, window: str) -> bool:
        """Return True if no later token can change the text so far."""
        last = self.ids[-1]
        # Decoders take a run of single bytes of a SentencePiece vocabulary together, and see no special token in it.
        token = self.tokenizer.backend.id_to_token(last) or ""
        single = token.startswith("<0x") and token.endswith(">")
        return not window.endswith(PARTIAL) and not single and self.tokenizer.decode([last]) != ""

    def cut(self, length: int) -> str:
        """The text of the first `length` ids, which are all that is left."""
        del self.ids[length:]
        self._clear()
        self.text = self.tokenizer.decode(self.ids)
        return self.text
