"""Sequences of the decode engine: prompts, and the texts that are being written after them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from nightjar.core.arguments import check_count, check_list
from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion
from nightjar.models.engine.detokeniser import Detokeniser
from nightjar.models.engine.kv_cache import KVPage

# Bounds the tokens that do not stay in a sequence, as a multiple of its limit.
EFFORT = 8


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
        check_list(self.stop, "stop")
        check_count(self.max_new_tokens, "max_new_tokens")

    @property
    def room(self) -> int:
        """The tokens of the prompt and its longest continuation, without what may be fed in."""
        return len(self.ids) + self.max_new_tokens


class GeneratedSequence:
    """One text being written after a prompt.

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
        self.page: KVPage | None = None
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
        """Write a token, which may end the sequence. `held`: neither the end token nor a stop string does."""
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
        """List the stop strings by their places. One may begin in text that was settled, and searched, before."""
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
        """Remove the tokens since the mark; the logits from before them return."""
        assert self.page is not None
        self.text = self.detokeniser.cut(self.mark)
        self.page.length = len(self.prompt.ids) + self.mark
        self.logits = self.mark_logits

    def result(self) -> Completion:
        return Completion(
            self.text, not self.stopped, self.written + self.fed, stop=self.stop, ids=tuple(self.ids)
        )
