"""The interface of a tool: a name, its settings, the texts that suit it, and a batch of requests that it answers.

A tool is one file with a class. The registry finds the class by name and makes the tool; a `Toolbox` runs it: time
limits, the cache and threads are there, not in the tool.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from nightjar.core.config import NoSettings, StrictModel

# on: the model may call; disabled: it may not begin a call; off: nothing is steered, a call is text like any other.
Calls = Literal["on", "disabled", "off"]


@dataclass(frozen=True)
class ToolRequest:
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


class Tool(ABC):
    """A tool. Subclass it for the defaults: a tool needs `name`, `version` and `run`.

    `name`: as written in a call, such as Calculator. `version`: changes whenever a result may change; what a tool reads
    and its settings are part of it. `instructions`: the prompt that makes a model propose calls, up to the text (see
    nightjar.prompts.tool_prompts.instructions); only sampling calls for texts needs it. `uses`: which of the fields
    "day" and "text" of a request the tool reads; the others are left empty. `seconds`: how long a batch may take.
    `settings`: the model of the keys below `tools.all.NAME` in the parameters, all with defaults. `description` and
    `argument` are for chat models (`schema`).
    """

    name: str
    version: str
    instructions: str = ""
    uses: frozenset[str] = frozenset()
    seconds: float = 30.0
    settings: type[StrictModel] = NoSettings
    # For chat models, which call functions: what the tool does, and what its input is; "": it takes none.
    description: str = ""
    argument: str = "the input of the tool"

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as a function that a chat model calls (JSON Schema), with its input as the only argument."""
        properties = {"input": {"type": "string", "description": self.argument}} if self.argument else {}
        about = self.description or (type(self).__doc__ or self.name).strip().split("\n\n")[0]
        parameters = {"type": "object", "properties": properties, "required": list(properties)}
        return {"name": self.name, "description": " ".join(about.split()), "parameters": parameters}

    @classmethod
    def make(cls, resource: Path | None, settings: Any) -> Tool:
        """The tool; `resource` is the path of what it reads, `settings` an instance of `cls.settings`."""
        return cls()

    def suits(self, text: Text, chance: float) -> str:
        """Which rule makes `text` worth sampling calls for (appendix A), in a few words; empty if none does.

        `chance` is drawn uniformly from [0, 1) for this text.
        """
        return "every text"

    @abstractmethod
    def run(self, requests: Sequence[ToolRequest]) -> list[str | None]:
        """Return the result of each request, in order; None where there is none."""

    def why(self, request: ToolRequest) -> str:
        """Why `request` has no result, in a few words, for a person who typed the call."""
        return "the tool gives none"
