"""Calls are read back as they were written, in any text, and nothing else is taken for one."""

from __future__ import annotations

import itertools
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.tools.syntax import (
    TOOLS,
    Call,
    WrittenCall,
    find,
    find_request,
    insert,
    parse,
    parse_request,
    remove,
    write,
)

# Texts rich in the signs that the syntax is made of.
SIGNS = st.text(st.sampled_from('[]()\\"->→ \nab1*QAMT,é'), max_size=30)
PIECES = st.sampled_from(
    ["[", "]", "(", ")", "\\", '"', " ", "->", "QA(", "[QA(", "[MT(", " [Calculator(1)]", "x"]
)
TEXTS = SIGNS | st.lists(PIECES, max_size=12).map("".join)


CALLS = st.builds(Call, st.sampled_from(TOOLS), TEXTS.map(str.strip))
RESULTS = st.none() | TEXTS.map(str.strip)


@pytest.mark.parametrize(
    ("call", "result", "written"),
    [
        (Call("Calculator", "400 / 1400"), "0.29", " [Calculator(400 / 1400) -> 0.29]"),
        (Call("Calculator", "400 / 1400"), None, " [Calculator(400 / 1400)]"),
        (Call("Calculator", "400 / 1400"), "", " [Calculator(400 / 1400) -> ]"),
        (Call("Calendar", ""), "Today is Monday.", " [Calendar() -> Today is Monday.]"),
        (Call("QA", "Who?"), None, ' [QA("Who?")]'),
        (Call("WikiSearch", 'a "b" (c)'), "A > [1]", ' [WikiSearch("a "b" (c)") -> A > \\[1\\]]'),
        (Call("MT", "sic :)"), "so :)", " [MT(sic :\\)) -> so :)]"),
    ],
)
def test_written_form(call: Call, result: str | None, written: str) -> None:
    assert write(call, result) == written
    assert find(written) == [WrittenCall(0, len(written), call, result)]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("Calculator(400 / 1400)", Call("Calculator", "400 / 1400")),
        ("  Calculator( (1 + 2) * (3) )\n", Call("Calculator", "(1 + 2) * (3)")),
        ('QA("Who (if any)?")', Call("QA", "Who (if any)?")),
        ("QA(Who?)", Call("QA", "Who?")),
        ('MT("quoted")', Call("MT", '"quoted"')),
        ("Calendar()", Call("Calendar", "")),
        ("QA(what is [1]?)", Call("QA", "what is [1]?")),
        ("Calculator((1)", None),
        ("Calculator (1)", None),
        ("Telephone(1)", None),
        ("Calculator(1) -> 1", None),
        ("", None),
    ],
)
def test_parse(text: str, call: Call | None) -> None:
    assert parse(text) == call


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("is [Calculator(400 / 1400) → 0.29] 29%", ["0.29"]),
        ("is [Calculator(400 / 1400)→0.29] 29%", ["0.29"]),
        ("(see [Calendar()])", [None]),
        ("no [1] call [Calculator] or [Calculator(1] or [Calculator(1) or", []),
        ("[Calculator(1) is 1] [Telephone(1)] [Calculator((1)]", []),
        ("[QA(half [MT(nada)] done", [None]),
        ('[QA("a [MT(nada)] b")]', [None]),
    ],
)
def test_find(text: str, results: list[str | None]) -> None:
    assert [found.result for found in find(text)] == results


def test_text_in_brackets_stays() -> None:
    text = "As [Smith](1) said [2], f[Calculator] = [Calculator(1] (3)."
    assert remove(text) == text


def test_only_one_blank_is_removed() -> None:
    assert remove("a  [Calculator(1) -> 1] b") == "a  b"
    assert remove("a[Calculator(1) -> 1] b") == "a b"
    assert remove(" [Calculator(1)] [Calendar() -> x]") == ""


@given(CALLS, RESULTS)
def test_what_is_written_is_read_back(call: Call, result: str | None) -> None:
    assert parse(write(call)[2:-1]) == call
    written = write(call, result)
    assert find(written) == [WrittenCall(0, len(written), call, result)]


@given(TEXTS, st.data())
def test_removing_undoes_inserting(text: str, data: st.DataObject) -> None:
    text = remove(text)
    while find(text):  # taking a call out can bring the parts of another together
        text = remove(text)
    offsets = st.integers(0, len(text))
    calls = data.draw(st.lists(st.tuples(offsets, CALLS, RESULTS), max_size=4))
    written = insert(text, calls)
    assert remove(written) == text
    expected = [(call, result) for _, call, result in sorted(calls, key=lambda item: item[0])]
    assert [(found.call, found.result) for found in find(written)] == expected


@given(TEXTS)
def test_found_calls_are_apart_and_in_order(text: str) -> None:
    position = 0
    for found in find(text):
        assert position <= found.start < found.end
        assert re.match(rf" ?\[({'|'.join(TOOLS)})\(", text[found.start :])
        assert text[found.end - 1] == "]"
        position = found.end


HOSTILE = ["[QA(", "\\[QA(", "[QA(x\\] -> ", "(", "[Calculator(1)", " [Calculator("]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("end", ["", "->" * 30_000])
def test_hostile_text_takes_no_time(piece: str, end: str) -> None:
    started = time.process_time()
    assert find(piece * 30_000 + end) == []
    assert (find_request("[QA(" + piece * 30_000 + end, TOOLS) is None) or (piece.endswith(")") and end)
    assert time.process_time() - started < 2


def test_backslashes_are_read_in_one_way() -> None:
    # With a choice at each of them this would take hours.
    assert parse_request("QA(" + "\\" * 5_000 + "[[", TOOLS) is False
    # The second of two belongs to the first: the bracket is bare.
    assert parse_request("QA(x) \\\\]->", TOOLS) is False


UNESCAPED = ["[", "]", "QA(", "Calculator(", ")", "->", "→", " ", "1", "\n", '"', "(", "Foo(", "-"]


@given(st.lists(st.sampled_from(UNESCAPED), max_size=12).map("".join), st.booleans())
def test_the_first_call_that_asks_is_the_one_that_decoding_would_see(text: str, begun: bool) -> None:
    """Decoding looks at each beginning of the text behind each bracket."""
    text = f" [QA({text}" if begun else text
    wanted = None
    for start, end in itertools.combinations(range(len(text) + 1), 2):
        call = parse_request(text[start + 1 : end], TOOLS) if text[start] == "[" else False
        if isinstance(call, Call) and text[end - 1] in ">→":
            wanted = (start - text.startswith(" [", max(start - 1, 0)), end, call)
            break
    assert find_request(text, TOOLS) == wanted
