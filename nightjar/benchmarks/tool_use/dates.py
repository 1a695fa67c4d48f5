"""Dates for Dateset: US federal holidays, whole units between two dates, and dates so many units away."""

from __future__ import annotations

import calendar
from datetime import date, timedelta

from nightjar.tools.calendar import MONTHS

UNITS = ("days", "weeks", "months", "years")
MONDAY, THURSDAY = 0, 3
# Name: month and day, or month, weekday and which one in the month (-1: the last), as 5 U.S.C. 6103 has them today.
HOLIDAYS: dict[str, tuple[int, int] | tuple[int, int, int]] = {
    "New Year's Day": (1, 1),
    "Martin Luther King Jr. Day": (1, MONDAY, 3),
    "Washington's Birthday": (2, MONDAY, 3),
    "Memorial Day": (5, MONDAY, -1),
    "Juneteenth": (6, 19),
    "Independence Day": (7, 4),
    "Labor Day": (9, MONDAY, 1),
    "Columbus Day": (10, MONDAY, 2),
    "Veterans Day": (11, 11),
    "Thanksgiving Day": (11, THURSDAY, 4),
    "Christmas Day": (12, 25),
}


def written(day: date) -> str:
    """As the questions write a date: "August 14, 2020"."""
    return f"{MONTHS[day.month - 1]} {day.day}, {day.year}"


def holiday(name: str, year: int) -> date:
    """The day itself, on a weekend too: not the day off that replaces it."""
    rule = HOLIDAYS[name]
    if len(rule) == 2:
        return date(year, *rule)
    month, weekday, place = rule
    first, length = calendar.monthrange(year, month)
    days = range(1 + (weekday - first) % 7, length + 1, 7)
    return date(year, month, days[place - 1 if place > 0 else place])


def shifted(day: date, number: int, unit: str) -> date:
    """The date `number` units after `day`, or before it if negative.

    Months and years keep the day of the month, or take the last day of a month that is shorter.
    """
    if unit in ("days", "weeks"):
        return day + timedelta(**{unit: number})
    months = day.year * 12 + day.month - 1 + number * (12 if unit == "years" else 1)
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def between(earlier: date, later: date, unit: str) -> int:
    """How many whole units after `earlier` are reached by `later`: the largest n with shifted(earlier, n) <= later."""
    days = (later - earlier).days
    if unit in ("days", "weeks"):
        return days // (7 if unit == "weeks" else 1)
    months = (later.year - earlier.year) * 12 + later.month - earlier.month
    months -= shifted(earlier, months, "months") > later
    return months // 12 if unit == "years" else months
