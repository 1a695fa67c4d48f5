"""Which texts are annotated, and the rows of their candidates."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from nightjar.core import contracts
from nightjar.tools import Call, Text, make
from nightjar.tools.annotate import Candidate
from nightjar.tools.calculator import RELATED
from nightjar.tools.filter import Losses
from stages.augment.texts import Source, chains, draw, from_documents, from_instances, row, suited

CALCULATOR, CALENDAR = make("calculator"), make("calendar")


def test_texts_are_chosen_by_the_heuristics_and_the_seed() -> None:
    rows = [
        {"task_id": "t", "id": str(n), "input": f"{n} boxes of 3 pens", "outputs": [f"{3 * n} pens", "many"]}
        for n in range(2, 9)
    ]
    texts = from_instances(rows)
    assert len(texts) == 14
    suitable = suited(CALCULATOR, texts, 1)
    # Only the references with a number, which is a product of the other two.
    assert [(text.id, text.target, text.rule) for text in suitable] == [
        (str(n), 0, RELATED) for n in range(2, 9)
    ]
    assert draw("calculator", suitable, None, seed=1) == draw("calculator", suitable, 7, seed=1) == suitable
    some = draw("calculator", suitable, 3, seed=1)
    assert len(some) == 3
    assert some == draw("calculator", suitable, 3, seed=1)
    assert [text.id for text in some] == sorted(text.id for text in some)
    assert suited(CALENDAR, texts, seed=1) == []


def test_texts_of_more_words_are_left_out() -> None:
    day = date(2023, 1, 30)
    rows = [{"id": str(n), "text": " ".join(["word"] * n), "date": day} for n in range(1, 6)]
    texts = from_documents(rows)
    assert [text.id for text in suited(CALENDAR, texts, seed=1, words=3)] == ["1", "2", "3"]
    assert len(suited(CALENDAR, texts, seed=1, words=None)) == len(suited(CALENDAR, texts, seed=1)) == 5


def test_the_day_of_a_text() -> None:
    day = date(2023, 1, 30)
    documents = from_documents([{"id": "d", "text": " It is 2020-01-01. ", "date": day}])
    assert documents == [Source("corpus", None, "d", 0, Text("It is 2020-01-01.", day=day))]
    (target,) = from_instances(
        [{"task_id": "t", "id": "i", "input": " On 30 January 2023", "outputs": [" x "]}]
    )
    assert target.text == Text("x", "Input: On 30 January 2023\nOutput:", day)


BETTER, ENOUGH, WORSE = Losses(3.0, 2.5, 1.0), Losses(3.0, 2.5, 1.5), Losses(3.0, 2.5, 1.6)
SUM = Call("Calculator", "8 * 12")


@pytest.mark.parametrize(
    ("call", "result", "losses", "price", "written", "status"),
    [
        (SUM, "96", ENOUGH, 0.0, "[Calculator(8 * 12)]", "kept"),
        (SUM, "96", WORSE, 0.0, "[Calculator(8 * 12)]", "below_threshold"),
        (SUM, "96", BETTER, 0.5, "[Calculator(8 * 12)]", "kept"),
        (SUM, "96", BETTER, 0.6, "[Calculator(8 * 12)]", "below_threshold"),
        (Call("Calculator", "x"), None, None, 0.0, "[Calculator(x)]", "no_result"),
        (None, None, None, 0.0, "so (unfinished)", "malformed"),
    ],
)
def test_rows(
    call: Call | None, result: str | None, losses: Losses | None, price: float, written: str, status: str
) -> None:
    candidate = Candidate(3, 7, 0.25, "so (unfinished)", call, result, losses)
    made = row("calculator", Source("train", "t", "i", 1, Text("body")), candidate, 1.0, price)
    assert list(made) == contracts.CANDIDATES.schema.names
    assert (made["call"], made["result"], made["status"]) == (written, result, status)
    assert (made["token"], made["offset"], made["probability"]) == (3, 7, 0.25)
    assert made["gain"] == (None if losses is None else losses.gain)


def test_the_row_of_a_call_in_a_chain_begins_with_the_calls_before_it() -> None:
    earlier = ((Call("Calculator", "8 * 12"), "96"), (Call("Calculator", "96 / 4"), "24"))
    calls = [
        Candidate(3, 7, 0.25, "", Call("Calculator", "24 + 1"), "25", Losses(3.0, 2.5, 1.5), earlier),
        Candidate(3, 7, 0.25, " so", None, earlier=earlier[:1]),
    ]
    source = Source("corpus", None, "d", 0, Text("body"))
    assert [row("calculator", source, one, 1.0)["call"] for one in calls] == [
        "[Calculator(8 * 12) -> 96] [Calculator(96 / 4) -> 24] [Calculator(24 + 1)]",
        "[Calculator(8 * 12) -> 96]  so",
    ]


def candidate(call: str, status: str = "kept", gain: float | None = 1.0) -> dict[str, Any]:
    return {"call": call, "status": status, "gain": gain}


def test_calls_are_counted_by_their_number_in_the_chain() -> None:
    first, second = "[Calculator(8 * 12) -> 96]", "[Calculator(96 / 4) -> 24]"
    rows = [
        candidate("[Calculator(8 * 12)]"),
        candidate("[Calculator(8 * 13)]", "below_threshold", 0.1),
        candidate("so (unfinished)", "malformed", None),
        candidate(f"{first} [Calculator(96 / 4)]", gain=0.75),
        candidate(f"{first} [Calculator(9 + 96.5)]", gain=0.5),
        candidate(f"{first} [Calculator(96 / 5)]", "below_threshold", -0.5),
        candidate(f"{first} so", "malformed", None),
        candidate(f"{first} {second} [Calculator(96 + 1)]", gain=0.25),
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
    rows = [candidate(f"[Other(x) -> {result}] [Other({given})]")]
    assert chains(rows)["use_result"] == used
