"""The filter of Toolformer: does a call with its result make what follows it likelier (section 2, facts 3.3)?

The loss of a text from a position on is weighed over five tokens. A call is worth keeping if, with call and result in
front of the whole text, that loss is lower by a threshold than without a call and than with a call that has no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nightjar.lm.load import LanguageModel, Tokenizer
from nightjar.lm.score import continuation_logprobs
from nightjar.tools.formulas import WINDOW, Losses, weighted_loss
from nightjar.tools.syntax import Call, write
from nightjar.tools.tool import Text


@dataclass(frozen=True)
class Tokens:
    """A text as the model reads it: the ids of its context, and of its body with one blank before it.

    `offsets`: for each id of the body, where it begins in " " + body; different ids may begin at the same place only
    inside of a character.
    """

    context: list[int]
    body: list[int]
    offsets: list[int]

    @classmethod
    def of(cls, tokenizer: Tokenizer, text: Text, most: int | None = None) -> Tokens:
        """The tokens of `text`, of its body the first `most`."""
        encoded = tokenizer.backend(f" {text.body}", add_special_tokens=False, return_offsets_mapping=True)
        starts = [start for start, _ in encoded["offset_mapping"]]
        context = tokenizer.encode(f" {text.context}") if text.context else []
        return cls(context, encoded["input_ids"][:most], starts[:most])


def call_losses(lm: LanguageModel, text: Text | str, calls: Sequence[tuple[int, Call, str]]) -> list[Losses]:
    """The three losses, in nats, of each (offset, call, result) of a text, in order.

    A call is before the token with the character at `offset` of the body, or with the blank before that character: a
    call brings its own. `Losses.kept` says whether the call helps. Raises ValueError for an offset outside of the body.
    """
    whole = Text(text) if isinstance(text, str) else text
    tokens = Tokens.of(lm.tokenizer, whole)
    spaced = f" {whole.body}"
    placed = []
    for offset, call, result in calls:
        if not 0 <= offset < len(whole.body):
            raise ValueError(f"offset {offset} is outside of a text of {len(whole.body)} characters")
        start = offset if spaced[offset] == " " != spaced[offset + 1] else offset + 1
        token = max(place for place, begin in enumerate(tokens.offsets) if begin <= start)
        placed.append((token, call, result))
    return losses_at(lm, tokens, placed)


def losses_at(lm: LanguageModel, tokens: Tokens, calls: Sequence[tuple[int, Call, str]]) -> list[Losses]:
    """As `call_losses`, each call given with the number of the token that it is before.

    A loss that several calls share is computed once.
    """
    # A text that begins at its first word needs something to be predicted from.
    first = [lm.tokenizer.end]
    wanted: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
    for place, call, result in calls:
        for before in _prefixes(call, result):
            ids = [*first, *lm.tokenizer.encode(before)] if before else first
            context = [*ids, *tokens.context, *tokens.body[:place]]
            wanted[place, before] = (context, tokens.body[place : place + WINDOW])
    values = continuation_logprobs(lm, list(wanted.values()))
    losses = {key: weighted_loss(value) for key, value in zip(wanted, values, strict=True)}
    return [
        Losses(*(losses[place, before] for before in _prefixes(call, result)))
        for place, call, result in calls
    ]


def _prefixes(call: Call, result: str) -> tuple[str, str, str]:
    """What is in front of the whole text for each of the three losses: nothing, e(c, ""), e(c, r)."""
    return "", write(call, ""), write(call, result)
