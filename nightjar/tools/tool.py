"""The interface of a tool: a name, the texts that suit it, and a batch of requests that it answers.

A tool is one file with a function `make(resource: Path | None) -> Tool`. The registry finds it by name, a `Toolbox`
runs it: time limits, the cache and threads are there, not in the tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, Protocol

# on: the model may call; disabled: it may not begin a call; off: nothing is steered, a call is text like any other.
Calls = Literal["on", "disabled", "off"]


@dataclass(frozen=True)
class Request:
    """One call: its input, and the context of the call as far as the tool declares it in `uses`.

    `day` is the day of the text or question, None if unknown. `text` is the text that the call is in: a whole document,
    or a prompt and the answer so far.
    """

    input: str
    day: date | None = None
    text: str = ""


@dataclass(frozen=True)
class Text:
    """A text that calls may be added to: inside `body`, never inside `context`, which the model reads before it.

    `day` is the day that the text is about or was published on, None if unknown.
    """

    body: str
    context: str = ""
    day: date | None = None


class Tool(Protocol):
    """A tool. Subclass it for the defaults: a tool needs `name`, `version` and `run`.

    `name`: as written in a call, such as Calculator. `version`: changes whenever a result may change; what a tool reads
    is part of it. `instructions`: the prompt that makes a model propose calls, up to the text (see
    nightjar.prompts.tool_prompts.instructions); only sampling calls for texts needs it. `uses`: which of the fields
    "day" and "text" of a request the tool reads; the others are left empty.
    """

    name: str
    version: str
    instructions: str = ""
    uses: frozenset[str] = frozenset()

    def suits(self, text: Text, chance: float) -> bool:
        """Whether to sample calls for `text` (facts 3.5). `chance` is drawn uniformly from [0, 1) for this text."""
        return True

    def run(self, asked: Sequence[Request]) -> list[str | None]:
        """The result of each request, in order; None where there is none."""
        ...

    def why(self, request: Request) -> str:
        """Why `request` has no result, in a few words, for a person who typed the call."""
        return "the tool gives none"
