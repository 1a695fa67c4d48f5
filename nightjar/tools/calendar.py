"""The calendar: what day it is (Toolformer appendix A.1), and the first date that a text names.

The day is that of the request: of a document the date in its URL, of a question the date it is asked for. The tool
never reads the clock, so that no artifact depends on when it was made; commands that a person types pass today's date.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from nightjar.core.config import Model
from nightjar.prompts.tool_prompts import head
from nightjar.tools.tool import Request, Text, Tool

# Written out, as names from the system would follow its locale.
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

_MONTH = "|".join(MONTHS)
_DAY = r"(?<![0-9])([0-9]{1,2})(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\b({_MONTH})\s+{_DAY},?\s+([0-9]{{4}})(?![0-9])"  # March 13, 2026, with or without a weekday before it
    rf"|{_DAY}\s+({_MONTH}),?\s+([0-9]{{4}})(?![0-9])"  # 13 March 2026
    r"|(?<![0-9\-])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9\-])",  # 2026-03-13
    re.IGNORECASE,
)


def reply(today: date) -> str:
    """The calendar's result: "Today is Monday, January 30, 2023." (no leading zero in the day)."""
    return f"Today is {WEEKDAYS[today.weekday()]}, {MONTHS[today.month - 1]} {today.day}, {today.year}."


def find_date(text: str) -> date | None:
    """The first date named in `text` that exists, or None.

    Read are "March 13, 2026", "13 March 2026" (ordinals such as 13th too) and "2026-03-13". A weekday
    before it is not checked, and a date without its year is none.
    """
    for match in _DATE.finditer(text):
        groups = match.groups()
        if groups[0]:
            month, day, year = MONTHS.index(groups[0].capitalize()) + 1, groups[1], groups[2]
        elif groups[4]:
            day, month, year = groups[3], MONTHS.index(groups[4].capitalize()) + 1, groups[5]
        else:
            year, month, day = groups[6], int(groups[7]), groups[8]
        try:
            return date(int(year), month, int(day))
        except ValueError:  # the 30th of February; a later date may do
            continue
    return None


def _iso(text: str) -> str:
    date.fromisoformat(text)
    return text


class Settings(Model):
    """`day`: the date, such as "2023-01-30", of a request that has none; None: such a request has no result."""

    day: Annotated[str, AfterValidator(_iso)] | None = None


class Calendar(Tool):
    """The calendar as a tool: its calls have no input, its result is the day of the text or question.

    `day` is that of a request without one.
    """

    name = "Calendar"
    description = "Gives the current date."
    argument = ""
    instructions = head("Calendar")
    uses = frozenset({"day"})
    settings = Settings

    def __init__(self, day: date | None = None) -> None:
        self.day = day
        self.version = f"1 {day}" if day else "1"

    @classmethod
    def make(cls, resource: Path | None, settings: Settings) -> Calendar:
        return cls(date.fromisoformat(settings.day) if settings.day else None)

    def suits(self, text: Text, chance: float) -> str:
        """Whether the text has a day of its own."""
        return "a text with a date" if text.day is not None else ""

    def run(self, requests: Sequence[Request]) -> list[str | None]:
        days = [None if request.input else request.day or self.day for request in requests]
        return [None if day is None else reply(day) for day in days]

    def why(self, request: Request) -> str:
        return "the calendar takes no input" if request.input else "no date is known"
