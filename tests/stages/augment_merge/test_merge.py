"""Merging calls into texts: what is chosen and refused; without its calls a text is the original."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core import contracts
from nightjar.core.errors import NightjarError
from nightjar.tools.syntax import Call, find, remove, write
from stages.augment_merge.merge import (
    LIMIT,
    LOOK_AHEAD,
    NO_ANSWER,
    OWN_CALLS,
    WORSE,
    Body,
    Rules,
    call_of,
    choose,
    examples,
    looks_ahead,
    merged_texts,
)
from tests.questions import row_of

KEY = ("corpus", None, "d1", 0)
BODIES = {KEY: Body("Today 12 * 8 is 96.")}


def row(**values: Any) -> dict[str, Any]:
    """A candidate of the calculator that was measured."""
    place = {"tool": "calculator", "source": "corpus", "id": "d1", "token": 3, "offset": 5}
    call = {"call": "[Calculator(1 + 1)]", "result": "2", "gain": 1.0, "status": "measured"}
    return row_of(contracts.CANDIDATES, **place, **call) | values


def test_one_call_at_a_position_is_the_best_of_all_tools() -> None:
    rows = [
        row(call="[Calculator(1 + 1)]", gain=0.6),
        row(call="[Calculator(4 - 2)]", gain=0.9),
        row(call="[Calculator(2)]", gain=0.9),
        row(token=7, offset=9, gain=0.5),
        row(tool="calendar", call="[Calendar()]", result="Today is Monday, January 30, 2023.", gain=1.1),
        # Another tool's tokens may be numbered otherwise: the place is the offset.
        row(tool="wiki_search", call='[WikiSearch("x")]', token=4, gain=1.0),
    ]
    chosen = choose(rows, BODIES, Rules())
    assert chosen.calls == [rows[4], rows[3]]
    assert [reason for _, reason in chosen.rejected] == [WORSE] * 4
    # Of equal gains, the first.
    assert choose(rows[:3], BODIES, Rules()).calls == [rows[1]]
    assert choose([*reversed(rows[1:3])], BODIES, Rules()).calls == [rows[2]]


def test_the_limit_counts_texts_of_one_tool_by_their_largest_gain() -> None:
    bodies = {("corpus", None, str(n), 0): Body("a text of five words") for n in range(4)}
    rows = [row(id=str(n), gain=float(n)) for n in range(4)] + [row(id="0", offset=9, gain=8.0)]
    rows.append(row(id="1", offset=2, tool="calendar", call="[Calendar()]", gain=0.1))
    chosen = choose(rows, bodies, Rules(max_texts=2))
    assert {r["id"] for r in chosen.calls if r["tool"] == "calculator"} == {"0", "3"}
    assert [r["id"] for r in chosen.calls if r["tool"] == "calendar"] == ["1"]
    assert Counter(reason for _, reason in chosen.rejected) == {LIMIT: 2}
    assert examples(chosen.calls, "corpus") == {"calculator": 2, "calendar": 1}
    assert examples(chosen.calls, "train") == {}


TRANSLATED = " He wrote O homem (the man), then O filho, and O homem again."


@pytest.mark.parametrize(
    ("given", "offset", "context", "ahead"),
    [
        ("O homem", TRANSLATED.index(" (the"), "", False),
        ("O homem", TRANSLATED.index(" O homem"), "", True),
        ("O homem", TRANSLATED.index(" O homem"), "Translate: O homem", False),
        ("O filho", TRANSLATED.index(" (the"), "", True),
        ("O gato", TRANSLATED.index(" (the"), "", False),
        ("", 0, "", False),
    ],
)
def test_a_call_looks_ahead_if_its_input_occurs_only_after_it(
    given: str, offset: int, context: str, ahead: bool
) -> None:
    call = row(tool="machine_translation", call=f"[MT({given})]", offset=offset)
    bodies = {KEY: Body(TRANSLATED[1:], context)}
    assert looks_ahead(call, bodies[KEY]) is ahead
    guarded = choose([call], bodies, Rules(guarded=["machine_translation"]))
    assert [reason for _, reason in guarded.rejected] == [LOOK_AHEAD] * ahead
    # The guard is for the tools that it names.
    assert choose([call], bodies, Rules(guarded=["calculator"])).calls == [call]


@pytest.mark.parametrize(
    ("result", "place", "answered"),
    [
        ("the Honolulu area", " Honolulu", True),
        ("HONOLULU.", " Honolulu", True),
        ("Hawaii", " Honolulu", False),
        ("", " Honolulu", False),
        ("1961", " (1961", True),
        ("1961", "", False),  # behind the last word
    ],
)
def test_a_guarded_result_has_the_next_word(result: str, place: str, answered: bool) -> None:
    text = " Ann was born in Honolulu (1961)"
    call = row(
        tool="question_answering",
        call="[QA(Where?)]",
        offset=text.index(place) if place else len(text),
        result=result,
    )
    bodies = {KEY: Body(text[1:])}
    guarded = choose([call], bodies, Rules(answering=["question_answering"]))
    assert [reason for _, reason in guarded.rejected] == [NO_ANSWER] * (not answered)
    assert choose([call], bodies, Rules(answering=["calculator"])).calls == [call]


def test_a_refused_call_displaces_no_other() -> None:
    ahead = row(tool="machine_translation", call="[MT(96)]", gain=9.0)
    other = row(gain=0.7)
    assert choose([ahead, other], BODIES, Rules(guarded=["machine_translation"])).calls == [other]


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("It is [Calculator(1 + 1) -> 2] 2.", True),
        ("It is [Calendar()] today.", True),
        ("It is [Thesaurus(a) \u2192 b].", True),
        ("It is [Calculator(1 + 1", False),
        ("E[f(X)] of [1] and -> ](", False),
    ],
)
def test_a_text_with_calls_of_its_own_is_refused(text: str, refused: bool) -> None:
    rows = [row(), row(tool="thesaurus", call="[Thesaurus(x)]", offset=2)]
    chosen = choose(rows, {KEY: Body(text)}, Rules())
    assert [reason for _, reason in chosen.rejected] == [OWN_CALLS] * (2 * refused)
    assert len(chosen.calls) == 2 * (not refused)


def test_a_call_without_its_text_is_an_error() -> None:
    with pytest.raises(NightjarError, match=r"corpus d1 0: calls were sampled .*; nightjar rebuild augment"):
        choose([row()], {}, Rules())


def test_calls_of_several_tools_are_where_they_belong() -> None:
    today = "Today is Monday, January 30, 2023."
    rows = [
        row(offset=16, token=9, call="[Calculator(12 * 8)]", result="96"),
        row(tool="calendar", offset=0, token=0, call="[Calendar()]", result=today),
    ]
    merged = merged_texts(rows, {("corpus", None, "d0", 0): Body("untouched"), **BODIES})
    assert [m["id"] for m in merged] == ["d1"]
    assert merged[0]["text"] == f"[Calendar() -> {today}] Today 12 * 8 is [Calculator(12 * 8) -> 96] 96."
    assert merged[0]["original"] == BODIES[KEY].text
    assert merged[0]["tools"] == ["calendar", "calculator"]


# Letters and signs of which calls, and what looks like one, consist.
SIGNS = ["->", "\u2192", "[Calculator(", "Calendar()", "e\u0301"]
PIECES = st.sampled_from([*'a9 \n\\[]()\u05d0"', *SIGNS])
TEXTS = st.lists(PIECES, max_size=14).map(lambda pieces: "".join(pieces).strip())
NAMES = {"calculator": "Calculator", "calendar": "Calendar", "question_answering": "QA", "other": "Other"}


def test_what_is_no_call_is_refused() -> None:
    assert call_of(row()) == Call("Calculator", "1 + 1")
    for damaged in ("[Calculator(1)] and", "and [Calculator(1)]", "[Calculator(1", "", "[QA(1)] [QA(2)]"):
        with pytest.raises(NightjarError, match="is no call"):
            call_of(row(call=damaged))


def test_a_price_puts_a_tool_behind_cheaper_ones() -> None:
    rows = [row(gain=1.5), row(tool="calendar", call="[Calendar()]", gain=1.0)]
    assert choose(rows, BODIES, Rules(prices={"calculator": 0.4})).calls == rows[:1]
    assert choose(rows, BODIES, Rules(prices={"calculator": 0.6})).calls == rows[1:]


DRAWN_CALLS = st.tuples(
    st.integers(0, 12), st.sampled_from(["calculator", "question_answering", "other"]), TEXTS, TEXTS
)
DRAWN = st.lists(st.tuples(DRAWN_CALLS, st.integers(-1, 9)), max_size=9)


@given(text=TEXTS, drawn=DRAWN)
def test_the_merged_text_without_its_calls_is_the_original(
    text: str, drawn: list[tuple[tuple[int, str, str, str], int]]
) -> None:
    rows: list[dict[str, Any]] = []
    for (place, tool, asked, result), gain in drawn:
        call = write(Call(NAMES[tool], asked)).strip()
        offset = place % (len(text) + 1)
        rows.append(row(tool=tool, offset=offset, call=call, result=result, gain=float(gain)))
    bodies = {KEY: Body(text)}
    chosen = choose(rows, bodies, Rules())
    assert len(chosen.calls) + len(chosen.rejected) == len(rows)
    merged = merged_texts(chosen.calls, bodies)
    assert len(merged) == bool(chosen.calls)
    for made in merged:
        assert remove(f" {made['text']}", NAMES.values()) == f" {text}" == f" {made['original']}"
        found = find(f" {made['text']}", NAMES.values())
        wanted = sorted(chosen.calls, key=lambda one: one["offset"])
        assert [(one.call, one.result) for one in found] == [
            (call_of(one), one["result"].strip()) for one in wanted
        ]
        taken = 0
        for one, call in zip(wanted, found, strict=True):
            assert call.start - taken == one["offset"], "without the calls before it"
            taken += call.end - call.start
    if not find(text, NAMES.values()):
        best: dict[int, float] = {}
        for one in rows:
            best[one["offset"]] = max(one["gain"], best.get(one["offset"], one["gain"]))
        assert {one["offset"]: one["gain"] for one in chosen.calls} == best
