"""Text that cannot control a terminal, and numbers rounded half up."""

from __future__ import annotations

import json
import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core import display
from nightjar.core.display import printable, printable_json

STEERING = {
    "\x1b[31mred": "\\x1b[31mred",
    "\x9b31mred": "\\x9b31mred",
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
    "a\nb\r\tc": "a\\nb\\r\\tc",
    "\u202egnp.exe": "\\u202egnp.exe",
    "\u2066x\u2069": "\\u2066x\\u2069",
    "\u2028x\x7f": "\\u2028x\\x7f",
    "name\udcff": "name\\udcff",
}


@pytest.mark.parametrize(("text", "shown"), STEERING.items())
def test_what_could_steer_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_ordinary_text_of_any_script_remains() -> None:
    text = "naïve Straße 日本語 עברית हिन्दी می‌خواهم 👩‍🚀 [red]x[/] :train: {0} %s"
    assert printable(text) == text
    assert printable("a\tb\nc\r", keep="\n\t") == "a\tb\nc\\r"


def test_json_says_the_same_in_escapes_of_its_own() -> None:
    told = {text: [text] for text in STEERING}
    text = printable_json(json.dumps(told, indent=2, ensure_ascii=False))
    assert json.loads(text) == told
    assert printable(text, keep="\n") == text


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [
        (26.15, 1, "26.2"),  # a float a little below it, which `f"{26.15:.1f}"` shows as 26.1
        (43.85, 1, "43.9"),
        (1.25, 1, "1.3"),
        (-2.45, 1, "-2.5"),
        (-0.04, 1, "0.0"),
        (2.0, 0, "2"),
        (1e-7, 4, "0.0000"),
        (math.inf, 1, "inf"),
    ],
)
def test_numbers(value: float, decimals: int, expected: str) -> None:
    assert display.number(value, decimals) == expected


def test_signed() -> None:
    assert display.number(-2.865, 2, signed=True) == "-2.87"
    assert display.number(-0.001, 2, signed=True) == "+0.00"


@given(st.integers(-(10**8), 10**8), st.integers(0, 3))
def test_stored_values_round_as_decimals_do(stored: int, decimals: int) -> None:
    """Stored values have four decimals."""
    exact = Decimal(stored).scaleb(-4).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    assert Decimal(display.number(stored / 10**4, decimals)) == exact


def test_p() -> None:
    assert [display.p(it) for it in (1.0, 0.00012, 0.00009)] == ["1.0000", "0.0001", "< 0.0001"]
