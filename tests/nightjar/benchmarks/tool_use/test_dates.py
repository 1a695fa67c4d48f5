"""Holidays against pandas' calendar, distances against dateutil."""

from __future__ import annotations

from datetime import date

import pytest
from dateutil.relativedelta import relativedelta
from hypothesis import given
from hypothesis import strategies as st
from pandas.tseries import holiday as pandas_holiday

from nightjar.benchmarks.tool_use.dateset import HOLIDAYS, UNITS, between, holiday, shifted, written

DAYS = st.dates(date(1990, 1, 1), date(2040, 12, 31))
MOVING = {
    "Martin Luther King Jr. Day": pandas_holiday.USMartinLutherKingJr,
    "Washington's Birthday": pandas_holiday.USPresidentsDay,
    "Memorial Day": pandas_holiday.USMemorialDay,
    "Labor Day": pandas_holiday.USLaborDay,
    "Columbus Day": pandas_holiday.USColumbusDay,
    "Thanksgiving Day": pandas_holiday.USThanksgivingDay,
}


@pytest.mark.parametrize("name", MOVING)
def test_holidays_that_move(name: str) -> None:
    dates = MOVING[name].dates("1990-01-01", "2040-12-31")
    assert [day.date() for day in dates] == [holiday(name, year) for year in range(1990, 2041)]


def test_holidays_that_do_not_move() -> None:
    fixed = {name: holiday(name, 2021) for name in HOLIDAYS if name not in MOVING}
    assert fixed == {
        "New Year's Day": date(2021, 1, 1),
        "Juneteenth": date(2021, 6, 19),
        "Independence Day": date(2021, 7, 4),
        "Veterans Day": date(2021, 11, 11),
        "Christmas Day": date(2021, 12, 25),
    }


@given(DAYS, st.integers(-60, 60), st.sampled_from(UNITS))
def test_shifted(day: date, number: int, unit: str) -> None:
    assert shifted(day, number, unit) == day + relativedelta(**{unit: number})


@given(DAYS, DAYS, st.sampled_from(UNITS))
def test_between(one: date, other: date, unit: str) -> None:
    earlier, later = sorted((one, other))
    number = between(earlier, later, unit)
    assert shifted(earlier, number, unit) <= later < shifted(earlier, number + 1, unit)
    apart = relativedelta(later, earlier)
    days = (later - earlier).days
    expected = {
        "days": days,
        "weeks": days // 7,
        "months": apart.years * 12 + apart.months,
        "years": apart.years,
    }
    assert number == expected[unit]


def test_written() -> None:
    assert written(date(2020, 8, 4)) == "August 4, 2020"
