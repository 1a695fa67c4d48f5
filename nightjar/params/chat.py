"""The settings of a chat template or a chat server: part of a system of the group predict."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field

from nightjar.core.config import Positive, StrictModel


def _day(text: str) -> str:
    """The text of a day, YYYY-MM-DD."""
    try:
        if date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise ValueError("give a day as YYYY-MM-DD, in quotes")


# A day as text: parameters and options of a run are written as JSON.
Day = Annotated[str, AfterValidator(_day)]
# The day that the templates of Llama 3 name where they know none.
DAY = "2024-07-26"
# Settings of a chat that a server has itself, and why they cannot be chosen.
SERVER_SIDE = {
    "date": "a server fills its template by its own clock",
    "template_name": "a server has its own template",
}


class Chat(StrictModel):
    """A system that is asked through its model's chat template, or a chat server.

    `template_name`: which of several chat templates of the tokenizer; None: the default one, or with tools the one that
    is named `tool_use`. `system_message`: what the first message says; None: there is none. `examples_as_turns`:
    whether the examples of a prompt are turns of the chat. `date`: the day that a chat template of weights takes for
    today, so that prompts are the same on every day; a server fills its template by its own clock. For servers:
    `at_once`, requests at the same time, and `token_limit`, the most tokens of all prompts and answers together
    (None: no limit).
    """

    template_name: str | None = None
    system_message: str | None = None
    examples_as_turns: bool = False
    date: Day = DAY
    at_once: Annotated[int, Field(ge=1, le=256)] = 4
    token_limit: Positive | None = None
