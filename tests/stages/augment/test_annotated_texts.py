"""Which texts are annotated, and the rows of their candidates."""

from __future__ import annotations

from datetime import date

import pytest

from nightjar.core import contracts
from nightjar.tools import Call, Text, make
from nightjar.tools.annotate import Candidate
from nightjar.tools.calculator import RELATED
from nightjar.tools.filter import Losses
from stages.augment.annotated_texts import AnnotatedText, draw, from_documents, from_instances, row, suited

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
    assert documents == [AnnotatedText("corpus", None, "d", 0, Text("It is 2020-01-01.", day=day))]
    (target,) = from_instances(
        [{"task_id": "t", "id": "i", "input": " On 30 January 2023", "outputs": [" x "]}]
    )
    assert target.text == Text("x", "Input: On 30 January 2023\nOutput:", day)


SUM = Call("Calculator", "8 * 12")


@pytest.mark.parametrize(
    ("call", "result", "losses", "written", "status"),
    [
        (SUM, "96", Losses(3.0, 2.5, 1.5), "[Calculator(8 * 12)]", "measured"),
        (Call("Calculator", "x"), None, None, "[Calculator(x)]", "no_result"),
        (None, None, None, "so (unfinished)", "malformed"),
    ],
)
def test_rows(
    call: Call | None, result: str | None, losses: Losses | None, written: str, status: str
) -> None:
    candidate = Candidate(3, 7, 0.25, "so (unfinished)", call, result, losses)
    made = row("calculator", AnnotatedText("train", "t", "i", 1, Text("body")), candidate)
    assert list(made) == contracts.CANDIDATES.schema.names
    assert (made["call"], made["result"], made["status"]) == (written, result, status)
    assert (made["token"], made["offset"], made["probability"]) == (3, 7, 0.25)
    assert made["gain"] == (None if losses is None else losses.gain)
