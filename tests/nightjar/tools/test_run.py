"""A call that a person types, and the one line they read when it gives nothing."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from nightjar.tools.registry import call_text

DAY = date(2023, 1, 30)


def test_results() -> None:
    assert call_text("Calculator(400 / 1400)", None) == "0.29"
    assert call_text(" Calendar()\n", DAY) == "Today is Monday, January 30, 2023."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Calculator(1/0)", "division by zero"),
        (f"Calculator({'1+' * 200}1)", "too long"),
        ("Calculator(9**9**9**9)", "not an expression"),
        ("Telephone(1)", "unknown tool"),
        ("QA(Who?)", "no lexical index"),
        ("Calendar()", "no date is known"),
        ("Calendar(tomorrow)", "takes no input"),
        ("WikiSearch(x)", "no lexical index"),
        ("", "not a tool call"),
        ("line\nbreak", "not a tool call"),
    ],
)
def test_one_line_says_why(workdir: Path, text: str, told: str) -> None:
    with pytest.raises(NightjarError) as caught:
        call_text(text, None)
    line = str(caught.value)
    assert told in line
    assert "\n" not in line
    assert len(line) < 250
