"""Runs a tool call: the calculator and the calendar, which need nothing but themselves."""

from __future__ import annotations

from datetime import date

from nightjar.core.errors import NightjarError
from nightjar.tools import calculator, calendar
from nightjar.tools.syntax import TOOLS, Call, parse

# The other tools of sheet 3.1 need a model or an index; a call of theirs has no result, so the filter drops
# it.
AVAILABLE = ("Calculator", "Calendar")


class NoResult(Exception):
    """A call that gives no result; the message says why, in a few words."""


def _run(call: Call, today: date | None) -> str:
    if call.tool not in AVAILABLE:
        raise NoResult(f"the tool {call.tool} is not available")
    if call.tool == "Calculator":
        try:
            return calculator.show(calculator.compute(call.input))
        except calculator.NoResult as error:
            raise NoResult(str(error)) from None
    if call.input:
        raise NoResult("the calendar takes no input")
    if today is None:
        raise NoResult("no date is known")
    return calendar.reply(today)


def run(call: Call, today: date | None) -> str | None:
    """The result of `call`, or None if it has none. `today` is the day that the calendar tells, None if
    unknown."""
    try:
        return _run(call, today)
    except NoResult:
        return None


def call_text(text: str, today: date | None) -> str:
    """The result of the call written in `text`, e.g. "0.29" for "Calculator(400 / 1400)".

    Raises NightjarError for what is no call, for an unknown tool or one that is not available, and for a call
    without a result, saying why.
    """
    shown = text if len(text) <= 60 else text[:57] + "..."
    call = parse(text)
    if call is None:
        name = text.strip().partition("(")[0]
        if name.isidentifier() and "(" in text and name not in TOOLS:
            raise NightjarError("unknown tool", repr(name), f"available are {', '.join(AVAILABLE)}")
        fix = 'write Name(input) with balanced parentheses, such as "Calculator(400 / 1400)"'
        raise NightjarError("not a tool call", repr(shown), fix)
    try:
        return _run(call, today)
    except NoResult as error:
        fix = "mend the input"
        if call.tool not in AVAILABLE:
            fix = f"available are {', '.join(AVAILABLE)}"
        elif call.tool == "Calendar" and not call.input:
            fix = "say what day it is"
        raise NightjarError(f"no result: {error}", repr(shown), fix) from None
