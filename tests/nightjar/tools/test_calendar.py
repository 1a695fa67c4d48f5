"""Replies and dates against Python's own names of months and weekdays (in the C locale)."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.tools import ToolRequest, make
from nightjar.tools.calendar import reply
from nightjar.tools.dates import find_date


def test_reply_in_the_paper() -> None:
    assert reply(date(2023, 1, 30)) == "Today is Monday, January 30, 2023."
    assert reply(date(2020, 11, 2)) == "Today is Monday, November 2, 2020."


@given(st.dates(date(1000, 1, 1)))
def test_every_form_is_found(day: date) -> None:
    assert reply(day) == f"Today is {day:%A, %B} {day.day}, {day.year}."
    for form in (
        f"{day:%A}, {day:%B} {day.day}, {day.year}",
        f"{day:%B} {day.day}, {day.year}",
        f"{day:%B} {day.day:02d} {day.year}",
        f"{day.day} {day:%B} {day.year}",
        f"{day.day}th {day:%B}, {day.year}",
        day.isoformat(),
        reply(day),
    ):
        assert find_date(f"It is {form}. In 3 days?") == day, form


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("On February 30, 2024 or rather March 1, 2024", date(2024, 3, 1)),
        ("2024-02-30, 2023-02-29, 2024-02-29", date(2024, 2, 29)),
        ("between 2 May 1999 and May 3, 1998", date(1999, 5, 2)),
        ("MARCH 13, 2026", date(2026, 3, 13)),
        ("2026-03-13T10:00", date(2026, 3, 13)),
        ("March 13", None),
        ("12026-03-13", None),
        ("1-2026-03-13", None),
        ("March 13, 20265", None),
        ("113 March 2026", None),
        ("2026-3-13", None),
        ("0000-01-01", None),
    ],
)
def test_find_date(text: str, day: date | None) -> None:
    assert find_date(text) == day


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert find_date(text) is None or isinstance(find_date(text), date)


def test_the_day_is_that_of_the_request_or_the_set_one_and_never_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class NoClock(date):
        @classmethod
        def today(cls) -> NoClock:
            raise AssertionError("the clock was read")

    monkeypatch.setattr("nightjar.tools.calendar.date", NoClock)
    own, other = ToolRequest("", date(2023, 1, 30)), ToolRequest("")
    assert make("calendar").run([own, other]) == ["Today is Monday, January 30, 2023.", None]
    fixed = make("calendar", None, {"day": "2020-11-02"})
    assert fixed.run([own, other, ToolRequest("tomorrow")]) == [
        "Today is Monday, January 30, 2023.",
        "Today is Monday, November 2, 2020.",
        None,
    ]
    assert fixed.version != make("calendar").version


@pytest.mark.parametrize("day", ["today", "2023-02-30", "30 January 2023", 20230130, date(2023, 1, 30)])
def test_a_day_that_is_none_is_refused(day: object) -> None:
    with pytest.raises(NightjarError, match=r"tools\.all\.calendar\.day"):
        make("calendar", None, {"day": day})
