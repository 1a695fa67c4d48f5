"""Merging calls into texts: what is chosen, and that taking the calls out gives the text back."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nightjar.tools.syntax import find, remove
from stages.augment_merge.merge import best_calls, limit_texts, merged_texts


def row(**values: Any) -> dict[str, Any]:
    base = {
        "tool": "calculator",
        "source": "corpus",
        "task_id": None,
        "id": "d1",
        "target": 0,
        "token": 3,
        "offset": 5,
        "call": "[Calculator(1 + 1)]",
        "result": "2",
        "gain": 1.0,
        "status": "kept",
    }
    return base | values


def test_the_largest_gain_wins_at_one_position_and_only_there() -> None:
    rows = [
        row(call="[Calculator(1 + 1)]", gain=0.6),
        row(call="[Calculator(4 - 2)]", gain=0.9),
        row(call="[Calculator(2)]", gain=0.9),
        row(token=7, gain=0.5),
        row(tool="calendar", call="[Calendar()]", gain=0.1),
        row(call="[Calculator(9)]", gain=9.0, status="below_threshold"),
    ]
    assert best_calls(rows) == [rows[1], rows[3], rows[4]]


def test_the_limit_counts_texts_of_one_tool_by_their_largest_gain() -> None:
    rows = [row(id=str(n), gain=float(n)) for n in range(4)] + [row(id="0", token=9, gain=8.0)]
    assert {r["id"] for r in limit_texts(rows, 2)} == {"0", "3"}
    assert len(limit_texts(rows, 2)) == 3


def test_calls_of_several_tools_stand_where_they_belong() -> None:
    text = "Today 12 * 8 is 96."
    rows = [
        row(offset=16, token=9, call="[Calculator(12 * 8)]", result="96"),
        row(
            tool="calendar",
            offset=0,
            token=0,
            call="[Calendar()]",
            result="Today is Monday, January 30, 2023.",
        ),
    ]
    merged = merged_texts(rows, {("corpus", None, "d0", 0): "untouched", ("corpus", None, "d1", 0): text})
    assert [m["id"] for m in merged] == ["d1"]
    assert merged[0]["text"] == (
        "[Calendar() -> Today is Monday, January 30, 2023.] Today 12 * 8 is [Calculator(12 * 8) -> 96] 96."
    )
    assert merged[0]["tools"] == ["calendar", "calculator"]


@given(st.text(alphabet="ab 9.()\n", max_size=30), st.data())
def test_taking_the_calls_out_gives_the_text_back(text: str, data: st.DataObject) -> None:
    """Places are those of " " + text: no two of them are one."""
    places = data.draw(st.lists(st.integers(0, len(text) + 1), unique=True, max_size=4))
    rows = [row(offset=place, token=place, call=f"[Calculator({place})]") for place in places]
    merged = merged_texts(rows, {("corpus", None, "d1", 0): text})
    assert len(merged) == (1 if places else 0)
    for made in merged:
        # A call in front of everything is followed by the first word's blank.
        assert remove(made["text"]) == (f" {text}" if 0 in places else text)
        found = find(made["text"])
        assert [int(one.call.input) for one in found] == sorted(places)
        # Without the calls before it, each is where its offset says.
        written = " " + made["text"]
        start = written.index
        before = [remove(written[: start(f" [Calculator({place}) ->")]) for place in sorted(places)]
        assert before == [f" {text}"[:place] for place in sorted(places)]
