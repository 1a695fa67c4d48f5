"""One text being written by the decode engine: its tokens, its text, and how it can be steered.

A token's text can depend on those before it: a character may have several tokens, and a decoder may treat the first
token of a text in another way. So a few tokens before the new ones are decoded again, and how much longer that makes
their text is what was added: the text of all tokens, at a cost that does not grow with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import torch

from nightjar.core.arguments import check_count, check_texts
from nightjar.core.errors import NightjarError
from nightjar.models.model import Text
from nightjar.models.rows import Segment
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


# Bounds what a row may cost in tokens that do not stay, as a multiple of its limit.
EFFORT = 8


class Answer(Enum):
    """An action that a controller can ask for beside feeding text."""

    TAKE_BACK = "remove what was written since the last token the controller chose, that token included"
    WAIT = "read no more of this row until the controller's `results` has text for it, or takes it back"
    END = "end this text here"


@dataclass(frozen=True)
class Prompt:
    """A text to be continued: its ids (at least one), until one of the texts `stop`, or for `max_new_tokens`.

    The controller, the sampling and the results refer to it by `number`. The first `shared` ids are a prefix that it
    has in common with the prompts around it.
    """

    number: int
    ids: Sequence[int]
    max_new_tokens: int
    stop: Sequence[str] = ()
    shared: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.ids, str) or not len(self.ids):
            what = "a text instead of ids" if self.ids else "no ids"
            raise NightjarError(
                what, f"prompt {self.number}", "encode a text that is not empty by the tokenizer"
            )
        check_texts(self.stop, "stop")
        check_count(self.max_new_tokens, "max_new_tokens")

    @property
    def room(self) -> int:
        """The tokens of the prompt and its longest continuation, without what may be fed in."""
        return len(self.ids) + self.max_new_tokens


class Row:
    """One text being written.

    `mark` is the number of ids before the last token that the controller chose, `mark_logits` the logits it chose by.
    `written` counts every token the model ever wrote, `fed` those fed in. `uncounted` are the present ids that do not
    count against the limit: those fed in, and those the controller adds. `text` is the decoded text. Stop strings are
    looked for from the place `searched_from` on, behind text that was fed in.

    `pending` are ids to be read. Without any, `logits` has what the last pass or a mark gave.
    """

    def __init__(
        self, prompt: Prompt, detokeniser: Detokeniser, generator: torch.Generator | None = None
    ) -> None:
        self.prompt, self.number = prompt, prompt.number
        self.detokeniser, self.generator = detokeniser, generator
        self.segment: Segment | None = None
        self.text = ""
        self.written = self.fed = self.uncounted = self.searched_from = 0
        self.ended = self.stopped = False
        self.stop: str | None = None
        self.pending: list[int] = []
        self.unread = False
        self.logits: torch.Tensor | None = None
        self.mark = 0
        self.mark_logits: torch.Tensor | None = None

    @property
    def ids(self) -> list[int]:
        """The new ids."""
        return self.detokeniser.ids

    def append(self, token: int, held: bool) -> None:
        """Write a token, which may end the row. `held`: neither the end token nor a stop string does."""
        self.written += 1
        if token == self.detokeniser.tokenizer.end and not held:
            self.ended = self.stopped = True
            return
        settled = self.detokeniser.settled_length
        self.text = self.detokeniser.add([token])
        self.pending, self.unread = [token], True
        limit = self.prompt.max_new_tokens
        stops = [] if held else self._stops(settled)
        if stops:
            place, self.stop = min(stops)
            self.text = self.text[:place]
            self.ended = self.stopped = True
        elif (len(self.ids) - self.uncounted >= limit and not held) or self.written >= EFFORT * limit:
            self.ended = True

    def _stops(self, settled: int) -> list[tuple[int, str]]:
        """Stop strings by where they begin. One may begin in the text that was settled, and searched, before."""
        starts = ((mark, max(self.searched_from, settled - len(mark) + 1)) for mark in self.prompt.stop)
        places = ((self.text.find(mark, place), mark) for mark, place in starts)
        return [one for one in places if one[0] >= 0]

    def feed(self, ids: list[int]) -> None:
        """Write ids that are not the model's."""
        self.text = self.detokeniser.add(ids)
        self.fed += len(ids)
        self.uncounted += len(ids)
        self.pending = ids
        if ids:
            self.searched_from = len(self.text)

    def take_back(self) -> None:
        """Remove the tokens since the row's mark; the logits from before them return."""
        assert self.segment is not None
        self.text = self.detokeniser.cut(self.mark)
        self.segment.length = len(self.prompt.ids) + self.mark
        self.logits = self.mark_logits

    def result(self) -> Text:
        return Text(self.text, not self.stopped, self.written + self.fed, stop=self.stop, ids=tuple(self.ids))


class Controller:
    """Steers decoding; this one does nothing. `lm/` knows no tools: `tools/decode.py` has the one that calls them."""

    def choose(self, row: Row, logits: torch.Tensor) -> int | None:
        """A token to write in the place of the model's choice, given the (vocabulary,) logits; None to leave it.

        Tokens are forbidden by setting their logits to minus infinity, in place.
        """
        return None

    def after(self, row: Row) -> Answer | None:
        """Called when the model has read the tokens written so far."""
        return None

    def holds(self, row: Row) -> bool:
        """Return True if an end token or stop string does not end the text now; the controller must deal with it."""
        return False

    def ready(self, rows: Sequence[Row], wait: bool) -> list[Row]:
        """Return the waiting rows whose results have arrived. With `wait`, block until there is one at least."""
        return list(rows)

    def results(self, rows: Sequence[Row]) -> list[str | None]:
        """For each of the rows, which are ready: text to feed in, or None to take back what was written."""
        return [None] * len(rows)
