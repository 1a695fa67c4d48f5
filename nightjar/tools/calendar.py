"""The calendar: what day it is (Toolformer appendix A.1).

The day is that of the request: of a document the date in its URL, of a question the date it is asked for. The tool
never reads the clock, so that no artifact depends on when it was made; commands that a person types pass today's date.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from nightjar.core.config import StrictModel
from nightjar.prompts.tool_prompts import CALL_NAMES, head
from nightjar.tools.dates import MONTHS, WEEKDAYS
from nightjar.tools.tool import Text, Tool, ToolRequest


def reply(today: date) -> str:
    """The calendar's result: "Today is Monday, January 30, 2023." (no leading zero in the day)."""
    return f"Today is {WEEKDAYS[today.weekday()]}, {MONTHS[today.month - 1]} {today.day}, {today.year}."


def _iso(text: str) -> str:
    date.fromisoformat(text)
    return text


class CalendarSettings(StrictModel):
    """`day`: the date, such as "2023-01-30", of a request that has none; None: such a request has no result."""

    day: Annotated[str, AfterValidator(_iso)] | None = None


class Calendar(Tool):
    """The calendar as a tool: its calls have no input, its result is the day of the text or question.

    `day` is that of a request without one.
    """

    name = CALL_NAMES["calendar"]
    description = "Gives the current date."
    argument = ""
    instructions = head("calendar")
    uses = frozenset({"day"})
    settings = CalendarSettings

    def __init__(self, day: date | None = None) -> None:
        self.day = day
        self.version = f"1 {day}" if day else "1"

    @classmethod
    def make(cls, resource: Path | None, settings: CalendarSettings) -> Calendar:
        return cls(date.fromisoformat(settings.day) if settings.day else None)

    def suits(self, text: Text, chance: float) -> str:
        """Name the rule for a text with a day of its own; empty for another."""
        return "a text with a date" if text.day is not None else ""

    def run(self, requests: Sequence[ToolRequest]) -> list[str | None]:
        days = [None if request.input else request.day or self.day for request in requests]
        return [None if day is None else reply(day) for day in days]

    def why(self, request: ToolRequest) -> str:
        return "the calendar takes no input" if request.input else "no date is known"
