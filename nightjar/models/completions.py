"""A completion: the text that a model wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Completion:
    """A text that a model wrote, without the stop string `stop` that ended it; `cut`: the limit of tokens ended it.

    `tokens` and `prompt_tokens` are the model's own counts, with all that was written, fed in or taken back; None where
    it gives none. `ids` are those that the text was decoded from, with what was fed in and the stop string, without an
    end token; empty for a model elsewhere. `failure` is the reason why there is no answer, such as an error of a
    server; the text is empty then.
    """

    text: str
    cut: bool = False
    tokens: int | None = None
    prompt_tokens: int | None = None
    stop: str | None = None
    ids: tuple[int, ...] = ()
    failure: str = ""


def until_stop(written: Completion, stop: Sequence[str]) -> Completion:
    """A text up to the first of the stop texts in it."""
    places = {place: one for one in stop if (place := written.text.find(one)) >= 0}
    if not places:
        return written
    first = min(places)
    return replace(written, text=written.text[:first], cut=False, stop=places[first])
