"""Dateset: the sizes of the published table, and every answer computed again from the text of its question."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, datetime

import pandas
import pytest
from dateutil.relativedelta import relativedelta
from pandas.tseries import holiday as pandas_holiday

from nightjar.benchmarks.tool_use.dateset import DateQuestion, currents, generate

# Schick et al. 2023, table 11, by the beginning of the id.
SIZES = {
    "days_between": 400,
    "units_ago": 800,
    "days_ahead": 800,
    "weekday_of_date": 400,
    "around_today": 4000,
    "holiday_field": 1800,
    "holiday_unit": 1200,
}
FIELD = "(day of the week|day of the month|month|year)"
DATE = r"([A-Z][a-z]+ \d{1,2}, \d{4})"
AROUND = ["the day before yesterday", "yesterday", "today", "tomorrow", "the day after tomorrow"]
FIXED = {
    "New Year's Day": "1-1",
    "Juneteenth": "6-19",
    "Independence Day": "7-4",
    "Veterans Day": "11-11",
    "Christmas Day": "12-25",
}
MOVING = {
    "Martin Luther King Jr. Day": pandas_holiday.USMartinLutherKingJr,
    "Washington's Birthday": pandas_holiday.USPresidentsDay,
    "Memorial Day": pandas_holiday.USMemorialDay,
    "Labor Day": pandas_holiday.USLaborDay,
    "Columbus Day": pandas_holiday.USColumbusDay,
    "Thanksgiving Day": pandas_holiday.USThanksgivingDay,
}


@pytest.fixture(scope="module")
def asked() -> list[DateQuestion]:
    return list(generate(42))


def test_sizes(asked: list[DateQuestion]) -> None:
    assert len(asked) == 9400 == len({it.id for it in asked})
    assert Counter(it.id.rpartition("-")[0] for it in asked) == SIZES


def test_variants_are_of_equal_size(asked: list[DateQuestion]) -> None:
    around = Counter(it.question for it in asked if it.id.startswith("around_today"))
    assert len(around) == 20 and set(around.values()) == {200}
    fields = Counter(
        it.question.split(" was ")[0].split(" is ")[0] for it in asked if it.id.startswith("holiday_f")
    )
    assert set(fields.values()) == {600} and len(fields) == 3
    units = Counter(it.question.split()[2] for it in asked if it.id.startswith("holiday_unit"))
    assert units == dict.fromkeys(("days", "weeks", "months", "years"), 300)


def test_no_question_is_asked_twice_on_a_day(asked: list[DateQuestion]) -> None:
    assert (
        len({(it.question, it.day) for it in asked}) > 9390
    )  # a date before or after two days can be the same


def test_the_current_dates() -> None:
    days = currents(42)
    assert len(days) == 500 == len({it.day for it in days})
    for it in days:
        assert (
            it.day - relativedelta(years=4) <= it.past < it.day < it.future <= it.day + relativedelta(years=4)
        )
    assert max((it.day - it.past).days for it in days) > 1300
    assert days == currents(42) != currents(43)


def value(day: date, field: str) -> str:
    stamp = pandas.Timestamp(day)
    values = {
        "day of the week": stamp.day_name(),
        "day of the month": str(stamp.day),
        "month": stamp.month_name(),
        "year": str(stamp.year),
    }
    return values[field]


def read(text: str) -> date:
    return datetime.strptime(text, "%B %d, %Y").date()


def holiday(name: str, year: int) -> date:
    if name in FIXED:
        return datetime.strptime(f"{year}-{FIXED[name]}", "%Y-%m-%d").date()
    (day,) = MOVING[name].dates(f"{year}-01-01", f"{year}-12-31")
    return day.date()  # type: ignore[no-any-return]


def count(one: date, other: date, unit: str) -> str:
    apart, days = relativedelta(max(one, other), min(one, other)), abs((one - other).days)
    counts = {
        "days": days,
        "weeks": days // 7,
        "months": apart.years * 12 + apart.months,
        "years": apart.years,
    }
    return str(counts[unit])


def solve(question: str, today: date) -> str:
    """The answer from the words alone; fails for a question of no template, or of a wrong tense."""
    if found := re.fullmatch(f"How many days ago was {DATE}\\?", question):
        assert read(found[1]) < today
        return str((today - read(found[1])).days)
    if found := re.fullmatch(f"How many days are there until {DATE}\\?", question):
        assert read(found[1]) > today
        return str((read(found[1]) - today).days)
    if found := re.fullmatch(f"What {FIELD} was it (\\d+) (day|week|month|year)(s?) ago\\?", question):
        number = int(found[2])
        assert number > 0 and (found[4] == "s") == (number != 1)
        then = today - relativedelta(**{found[3] + "s": number})
        assert then >= today - relativedelta(years=4)
        return value(then, found[1])
    if found := re.fullmatch(f"What {FIELD} will it be in (\\d+) (days?)\\?", question):
        assert (found[3] == "day") == (found[2] == "1")
        return value(today + relativedelta(days=int(found[2])), found[1])
    if found := re.fullmatch(f"What day of the week (is|was) it on {DATE}\\?", question):
        assert (found[1] == "was") == (read(found[2]) < today)
        return value(read(found[2]), "day of the week")
    if found := re.fullmatch(f"What {FIELD} (is|was) it ({'|'.join(AROUND)})\\?", question):
        distance = AROUND.index(found[3]) - 2
        assert (found[2] == "was") == (distance < 0)
        return value(today + relativedelta(days=distance), found[1])
    if found := re.fullmatch(f"What {FIELD} (is|was) (.+) this year\\?", question):
        then = holiday(found[3], today.year)
        assert found[1] != "year" and (found[2] == "was") == (then < today)
        return value(then, found[1])
    found = re.fullmatch("How many (.+) (ago was|are there until) (.+) this year\\?", question)
    assert found, question
    then = holiday(found[3], today.year)
    assert then != today and (found[2] == "ago was") == (then < today)
    return count(then, today, found[1])


def test_every_answer(asked: list[DateQuestion]) -> None:
    wrong = [it for it in asked if solve(it.question, it.day) != it.answers[0]]
    assert wrong == []


def test_days_of_the_month_also_as_ordinals(asked: list[DateQuestion]) -> None:
    ordinals = {it.answers for it in asked if "day of the month" in it.question}
    assert {answers[1] for answers in ordinals if int(answers[0]) in (1, 2, 3, 11, 12, 13, 21, 22, 23, 30, 31)} == {
        "1st", "2nd", "3rd", "11th", "12th", "13th", "21st", "22nd", "23rd", "30th", "31st",
    }  # fmt: skip
    assert all(len(it.answers) == 1 for it in asked if "day of the month" not in it.question)
