"""Dateset: 9,400 questions about dates, generated from the paper's templates (appendix D, table 11).

The paper gives the templates, their sizes, 500 random current dates, and a past and a future date within four years of
each. Chosen here, as the paper does not say:
- The current dates are different days of 2000 to 2022, the other dates one day to four years away, all equally likely.
- The sizes are multiples of 200, 600 and 300. Each variant of a template asks on that many of the 500 dates; each of a
  holiday template on that many of the 5,500 pairs of a date and a holiday. Drawn without repetition.
- "... ago" takes one of the units of which at least one has passed. Units are whole ones, months and years by the
  calendar (`shifted`, `between`).
- One unit is singular: "1 day ago". A holiday on the current date takes "is", and no distance to it is asked.
- An answer is a word or a number: "Friday", "14" or "14th", "August", "2020", "83".
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from dateutil.relativedelta import MO, TH, relativedelta

from nightjar.benchmarks.tool_use.tasks import DATESET
from nightjar.tools.dates import MONTHS, WEEKDAYS

SIZE = 9400
FIRST, LAST = date(2000, 1, 1), date(2022, 12, 31)
DATES = 500
PER_VARIANT, PER_HOLIDAY_FIELD, PER_HOLIDAY_UNIT = 200, 600, 300

FIELDS = ("day of the week", "day of the month", "month", "year")
# Words for the days around the current one, with their distance.
AROUND = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}


UNITS = ("days", "weeks", "months", "years")
# Name: month and day, or weekday and which one in the month, as 5 U.S.C. 6103 has them today.
HOLIDAYS: dict[str, tuple[int, Any]] = {
    "New Year's Day": (1, 1),
    "Martin Luther King Jr. Day": (1, MO(3)),
    "Washington's Birthday": (2, MO(3)),
    "Memorial Day": (5, MO(-1)),
    "Juneteenth": (6, 19),
    "Independence Day": (7, 4),
    "Labor Day": (9, MO(1)),
    "Columbus Day": (10, MO(2)),
    "Veterans Day": (11, 11),
    "Thanksgiving Day": (11, TH(4)),
    "Christmas Day": (12, 25),
}


@dataclass(frozen=True)
class Current:
    """A current date, with one date before and one after it."""

    day: date
    past: date
    future: date


@dataclass(frozen=True)
class DateQuestion:
    """A question of Dateset with its answers, any of which is right."""

    id: str
    question: str
    answers: tuple[str, ...]
    day: date


def generate(seed: int) -> Iterator[DateQuestion]:
    """All 9,400 questions, template after template; ids are TEMPLATE-NUMBER, such as "holiday_unit-0001"."""
    days = currents(seed)
    templates = {
        "days_between": _days_between,
        "units_ago": _units_ago,
        "days_ahead": _days_ahead,
        "weekday_of_date": _weekday_of_date,
        "around_today": _around_today,
        "holiday_field": _holiday_field,
        "holiday_unit": _holiday_unit,
    }
    for name, template in templates.items():
        questions = template(days, random.Random(f"{seed}\x1f{DATESET}\x1f{name}"))
        for number, (question, answers, current) in enumerate(questions, start=1):
            yield DateQuestion(f"{name}-{number:04d}", question, answers, current.day)


def currents(seed: int) -> list[Current]:
    """The 500 current dates, in the order of the calendar."""
    source = random.Random(f"{seed}\x1f{DATESET}")
    current_dates = []
    for number in sorted(source.sample(range(FIRST.toordinal(), LAST.toordinal() + 1), DATES)):
        day = date.fromordinal(number)
        past = source.randint(shifted(day, -4, "years").toordinal(), number - 1)
        future = source.randint(number + 1, shifted(day, 4, "years").toordinal())
        current_dates.append(Current(day, date.fromordinal(past), date.fromordinal(future)))
    return current_dates


_Drawn = Iterator[tuple[str, tuple[str, ...], Current]]


def _field(day: date, field: str) -> tuple[str, ...]:
    if field == "day of the month":
        ending = {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10 if day.day // 10 != 1 else 0, "th")
        return str(day.day), f"{day.day}{ending}"
    values = (WEEKDAYS[day.weekday()], MONTHS[day.month - 1], str(day.year))
    return (values[("day of the week", "month", "year").index(field)],)


def _count(number: int, unit: str) -> str:
    return f"{number} {unit.removesuffix('s') if number == 1 else unit}"


def _days_between(days: list[Current], source: random.Random) -> _Drawn:
    for current in source.sample(days, PER_VARIANT):
        yield (
            f"How many days ago was {written(current.past)}?",
            (str((current.day - current.past).days),),
            current,
        )
    for current in source.sample(days, PER_VARIANT):
        question = f"How many days are there until {written(current.future)}?"
        yield question, (str((current.future - current.day).days),), current


def _units_ago(days: list[Current], source: random.Random) -> _Drawn:
    for field in FIELDS:
        for current in source.sample(days, PER_VARIANT):
            passed = {unit: between(current.past, current.day, unit) for unit in UNITS}
            unit = source.choice([unit for unit in UNITS if passed[unit]])
            then = shifted(current.day, -passed[unit], unit)
            yield f"What {field} was it {_count(passed[unit], unit)} ago?", _field(then, field), current


def _days_ahead(days: list[Current], source: random.Random) -> _Drawn:
    for field in FIELDS:
        for current in source.sample(days, PER_VARIANT):
            distance = _count((current.future - current.day).days, "days")
            yield f"What {field} will it be in {distance}?", _field(current.future, field), current


def _weekday_of_date(days: list[Current], source: random.Random) -> _Drawn:
    for current in source.sample(days, PER_VARIANT):
        yield (
            f"What day of the week was it on {written(current.past)}?",
            _field(current.past, FIELDS[0]),
            current,
        )
    for current in source.sample(days, PER_VARIANT):
        yield (
            f"What day of the week is it on {written(current.future)}?",
            _field(current.future, FIELDS[0]),
            current,
        )


def _around_today(days: list[Current], source: random.Random) -> _Drawn:
    for field in FIELDS:
        for words, distance in AROUND.items():
            verb = "was" if distance < 0 else "is"
            for current in source.sample(days, PER_VARIANT):
                then = shifted(current.day, distance, "days")
                yield f"What {field} {verb} it {words}?", _field(then, field), current


def _holidays(days: list[Current]) -> list[tuple[Current, str, date]]:
    return [(it, name, holiday(name, it.day.year)) for it in days for name in HOLIDAYS]


def _holiday_field(days: list[Current], source: random.Random) -> _Drawn:
    for field in FIELDS[:3]:
        for current, name, then in source.sample(_holidays(days), PER_HOLIDAY_FIELD):
            verb = "was" if then < current.day else "is"
            yield f"What {field} {verb} {name} this year?", _field(then, field), current


def _holiday_unit(days: list[Current], source: random.Random) -> _Drawn:
    pairs = [pair for pair in _holidays(days) if pair[2] != pair[0].day]
    for unit in UNITS:
        for current, name, then in source.sample(pairs, PER_HOLIDAY_UNIT):
            phrase = "ago was" if then < current.day else "are there until"
            number = between(min(then, current.day), max(then, current.day), unit)
            yield f"How many {unit} {phrase} {name} this year?", (str(number),), current


def written(day: date) -> str:
    """As the questions write a date: "August 14, 2020"."""
    return f"{MONTHS[day.month - 1]} {day.day}, {day.year}"


def holiday(name: str, year: int) -> date:
    """The day itself, on a weekend too: not the day off that replaces it."""
    month, day = HOLIDAYS[name]
    if isinstance(day, int):
        return date(year, month, day)
    # Of the last of a month, the days are counted from its end.
    return date(year, month, 1) + relativedelta(day=31 if day.n == -1 else 1, weekday=day)


def shifted(day: date, number: int, unit: str) -> date:
    """The date `number` units after `day`, or before it if negative.

    Months and years keep the day of the month, or take the last day of a month that is shorter.
    """
    return day + relativedelta(**{unit: number})


def between(earlier: date, later: date, unit: str) -> int:
    """The number of complete units from `earlier` to `later`: the largest n with shifted(earlier, n) <= later."""
    apart = relativedelta(later, earlier)
    counts = {"months": apart.years * 12 + apart.months, "years": apart.years}
    days = (later - earlier).days
    return counts.get(unit, days // (7 if unit == "weeks" else 1))
