"""The filter of Toolformer: does a call with its result make what follows it likelier (sections 2 and 4.1)?

The loss of a text from a position on is weighted over five tokens. A call is worth keeping if, with call and result in
front of the whole text, that loss is lower by a threshold than without a call and than with a call that has no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nightjar.core.errors import NightjarError
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import Tokenizer
from nightjar.models.engine.log_probabilities import logprobs_at
from nightjar.tools.syntax import Call, write
from nightjar.tools.tool import Text

# Unnormalised weights are max(0, 1 - 0.2 t): only the five tokens from the position on count.
WINDOW = 5
UNNORMALISED = tuple(1.0 - 0.2 * t for t in range(WINDOW))
WEIGHTS = tuple(weight / sum(UNNORMALISED) for weight in UNNORMALISED)


def positions(probabilities: Sequence[float], threshold: float, limit: int) -> list[int]:
    """The positions whose probability of a call is above `threshold`, the `limit` likeliest, in text order.

    Of equal probabilities the earlier position is taken first; the paper does not say.
    """
    above = [place for place, value in enumerate(probabilities) if value > threshold]
    likeliest = sorted(above, key=lambda place: (-probabilities[place], place))[:limit]
    return sorted(likeliest)


def weighted_loss(logprobs: Sequence[float]) -> float:
    """L_i: the weighted negative log-likelihood, in nats, of the tokens from position i on.

    Near the end of a text fewer than five are left; the weights are not normalised again.
    """
    return -sum(weight * value for weight, value in zip(WEIGHTS, logprobs, strict=False))


@dataclass(frozen=True)
class Losses:
    """The three losses of a call at its position: with nothing before the text, with the call, with its result."""

    no_call: float
    without_result: float
    with_result: float

    @property
    def gain(self) -> float:
        """L- minus L+: what the result saves against the better of no call and a call without result."""
        return min(self.no_call, self.without_result) - self.with_result

    def reaches(self, threshold: float) -> bool:
        """Return true if the gain reaches the threshold, in nats. A gain equal to it is enough."""
        return self.gain >= threshold


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
    def of(cls, tokenizer: Tokenizer, text: Text) -> Tokens:
        """The tokens of `text`."""
        ids, spans = tokenizer.encode_with_offsets(f" {text.body}")
        context = tokenizer.continuation(f" {text.context}") if text.context else []
        return cls(context, ids, [start for start, _ in spans])


# The number of the token of the body that a call is before, the call, and its result.
Placed = tuple[int, Call, str]


def call_losses(lm: LanguageModel, text: Text | str, calls: Sequence[tuple[int, Call, str]]) -> list[Losses]:
    """The three losses, in nats, of each (offset, call, result) of a text, in order.

    A call is before the token with the character at `offset` of the body, or with the blank before that character: a
    call brings its own. `Losses.reaches` says whether the call helps.
    """
    full_text = Text(text) if isinstance(text, str) else text
    tokens = Tokens.of(lm.tokenizer, full_text)
    spaced = f" {full_text.body}"
    placed = []
    for offset, call, result in calls:
        if not 0 <= offset < len(full_text.body):
            what = f"offset {offset} is outside of a text of {len(full_text.body)} characters"
            raise NightjarError(what, "call_losses", "give the place of a character")
        start = offset if spaced[offset] == " " != spaced[offset + 1] else offset + 1
        token = max(place for place, begin in enumerate(tokens.offsets) if begin <= start)
        placed.append((token, call, result))
    return losses_at(lm, [(tokens, placed)])[0]


def losses_at(lm: LanguageModel, texts: Sequence[tuple[Tokens, Sequence[Placed]]]) -> list[list[Losses]]:
    """The three losses of each call of each text (section 2).

    The calls of a text that put the same in front of it share one pass of the model, up to the last token that counts
    for any of them; "nothing" is the same for all. Passes of like length are batched.
    """
    places: dict[tuple[int, str], set[int]] = {}
    for number, (_, calls) in enumerate(texts):
        for place, call, result in calls:
            for before in _prefixes(call, result):
                places.setdefault((number, before), set()).add(place)
    # The first token needs something to be predicted from.
    first = lm.tokenizer.before_text
    rows: list[tuple[list[int], list[int]]] = []
    for (number, before), call_places in places.items():
        tokens = texts[number][0]
        ids = [*first, *(lm.tokenizer.continuation(before) if before else ()), *tokens.context]
        counted = sorted(
            {one for place in call_places for one in range(place, min(place + WINDOW, len(tokens.body)))}
        )
        rows.append(([*ids, *tokens.body], [len(ids) + one for one in counted]))
    losses: dict[tuple[int, str, int], float] = {}
    for key, (ids, counted), values in zip(places, rows, logprobs_at(lm, rows), strict=True):
        begin = len(ids) - len(texts[key[0]][0].body)
        logprobs = dict(zip(counted, values, strict=True))
        for place in places[key]:
            window = range(begin + place, min(begin + place + WINDOW, len(ids)))
            losses[*key, place] = weighted_loss([logprobs[one] for one in window])
    return [
        [
            Losses(*(losses[number, before, place] for before in _prefixes(call, result)))
            for place, call, result in calls
        ]
        for number, (_, calls) in enumerate(texts)
    ]


def _prefixes(call: Call, result: str) -> tuple[str, str, str]:
    """The text in front of the whole text for each of the three losses: nothing, e(c, ""), e(c, r)."""
    return "", write(call, ""), write(call, result)
