"""What the facts say of chains."""

from __future__ import annotations

from typing import Any

import pytest

from stages.augment.texts import chains


def row(call: str, status: str = "kept", gain: float | None = 1.0) -> dict[str, Any]:
    return {"call": call, "status": status, "gain": gain}


def test_calls_are_counted_by_their_number_in_the_chain() -> None:
    first, second = "[Calculator(8 * 12) -> 96]", "[Calculator(96 / 4) -> 24]"
    rows = [
        row("[Calculator(8 * 12)]"),
        row("[Calculator(8 * 13)]", "below_threshold", 0.1),
        row("so (unfinished)", "malformed", None),
        row(f"{first} [Calculator(96 / 4)]", gain=0.75),
        row(f"{first} [Calculator(9 + 96.5)]", gain=0.5),
        row(f"{first} [Calculator(96 / 5)]", "below_threshold", -0.5),
        row(f"{first} so", "malformed", None),
        row(f"{first} {second} [Calculator(96 + 1)]", gain=0.25),
    ]
    found = {"kept": {"1": 1, "2": 2, "3": 1}, "sampled": 5, "saved": 1.5, "use_result": 2}
    assert chains(rows) == found
    assert chains(rows[:3]) == {"kept": {"1": 1}, "sampled": 0, "saved": 0.0, "use_result": 0}


@pytest.mark.parametrize(
    ("given", "result", "used"),
    [
        ("2 * 3", "2", True),
        ("12 * 3", "2", False),
        ("1.2 * 3", "2", False),
        ("2.5 * 3", "2", False),
        ("-2", "2", True),
        ("the (old) man", "(old)", True),
        ("in 2.", "2", True),
    ],
)
def test_an_input_uses_a_result_that_is_a_word_of_it(given: str, result: str, used: bool) -> None:
    rows = [row(f"[Other(x) -> {result}] [Other({given})]")]
    assert chains(rows)["use_result"] == used
