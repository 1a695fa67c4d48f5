"""The toolbox: batches, cache and limits; a tool that misbehaves costs only the call that made it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.tools import Call, Tool, Toolbox, ToolRequest, find, remove, write
from nightjar.tools import toolbox as module

DAY = date(2023, 1, 30)


class Any_(Tool):
    """Answers a request by `answer`, and remembers the batches."""

    name, version = "A", "1"

    def __init__(self, answer: Callable[[ToolRequest], Any], uses: frozenset[str] = frozenset()) -> None:
        self.answer, self.uses, self.batches = answer, uses, list[list[ToolRequest]]()

    def run(self, asked: Sequence[ToolRequest]) -> list[str | None]:
        self.batches.append(list(asked))
        return [self.answer(request) for request in asked]


def calls(*inputs: str) -> list[Call]:
    return [Call("A", input) for input in inputs]


@pytest.fixture()
def release() -> Iterator[threading.Event]:
    """Lets go of whatever still hangs when the test is over."""
    event = threading.Event()
    yield event
    event.set()


def hanging(inputs: set[str], release: threading.Event) -> Callable[[ToolRequest], str]:
    def answer(request: ToolRequest) -> str:
        if request.input in inputs:
            release.wait(60)
        return request.input.upper()

    return answer


@given(st.lists(st.sampled_from("abcdef"), max_size=12))
def test_results_are_in_order_and_each_input_is_run_once(inputs: list[str]) -> None:
    tool = Any_(lambda request: request.input * 2 if request.input != "c" else None)
    toolbox = Toolbox([tool])
    for _ in range(2):
        found = toolbox.run(calls(*inputs))
        assert found == [None if text == "c" else text * 2 for text in inputs]
    asked = [request.input for batch in tool.batches for request in batch]
    assert sorted(asked) == sorted(set(inputs))
    assert not toolbox.problems


def test_what_is_asked_while_a_tool_runs_is_its_next_batch(release: threading.Event) -> None:
    started = threading.Event()

    def answer(request: ToolRequest) -> str:
        started.set()
        release.wait(60)
        return request.input

    tool = Any_(answer)
    toolbox = Toolbox([tool])
    first = toolbox.ask(*calls("1"))
    started.wait(60)
    rest = [toolbox.ask(call) for call in calls("2", "3", "4", "2")]
    assert rest[0] is rest[3]
    assert not any(future.done() for future in (first, *rest))
    release.set()
    assert [future.result(60) for future in (first, *rest)] == ["1", "2", "3", "4", "2"]
    assert [[request.input for request in batch] for batch in tool.batches] == [["1"], ["2", "3", "4"]]


@pytest.mark.parametrize(
    "uses", [frozenset(), frozenset({"day"}), frozenset({"text"}), frozenset({"day", "text"})]
)
def test_a_tool_sees_and_the_cache_knows_the_context_it_uses(uses: frozenset[str]) -> None:
    tool = Any_(lambda request: f"{request.day} {request.text!r}", uses)
    toolbox = Toolbox([tool])
    contexts = [(day, text) for day in (None, DAY) for text in ("", "t")]
    found = [toolbox.run(calls("x"), day, text)[0] for day, text in contexts]
    assert found == [
        f"{day if 'day' in uses else None} {text if 'text' in uses else ''!r}" for day, text in contexts
    ]
    assert sum(map(len, tool.batches)) == 2 ** len(uses)


def test_tools_are_told_apart_and_unknown_ones_have_no_result() -> None:
    first, second = Any_(lambda request: "one"), Any_(lambda request: "two")
    second.name, second.version = "B", "7"
    toolbox = Toolbox([first, second])
    assert toolbox.run([Call("A", "x"), Call("B", "x"), Call("C", "x")]) == ["one", "two", None]
    assert toolbox.names == ("A", "B")
    assert toolbox.versions == {"A": "1", "B": "7"}
    with pytest.raises(NightjarError, match="two tools have this name"):
        Toolbox([first, first])


@pytest.mark.parametrize("rubbish", [7, b"bytes", ["list"], {"a": 1}, "x" * 21, object()])
def test_rubbish_is_no_result(rubbish: Any) -> None:
    toolbox = Toolbox([Any_(lambda request: rubbish if request.input == "b" else "fine")], longest=20)
    assert toolbox.run(calls(*"abc")) == ["fine", None, "fine"]
    assert sum(toolbox.problems.values()) == 1


@pytest.mark.parametrize("rubbish", [None, "abc", [], ["a"], {"a": 1}, 3])
def test_a_batch_that_is_no_list_of_its_length_is_run_one_by_one(rubbish: Any) -> None:
    class Batches(Any_):
        def run(self, asked: Sequence[ToolRequest]) -> list[str | None]:
            return super().run(asked) if len(asked) == 1 else rubbish

    tool = Batches(lambda request: request.input)
    assert Toolbox([tool]).run(calls(*"abc"))[1:] == ["b", "c"]


@pytest.mark.parametrize(("text", "line"), [(" a\n b\t", "a b"), ("", None), (" \n ", None), ("a  b", "a b")])
def test_a_result_is_one_line(text: str, line: str | None) -> None:
    assert Toolbox([Any_(lambda request: text)]).run(calls("x")) == [line]


RUBBISH = [
    "a]b",
    " [Calculator(1 + 1) -> 2]",
    "-> 7]",
    "→",
    '[QA("x")',
    "\\] \\\\ \\[",
    "two\nlines\r\nand\u2028more\u0085",
    "\u202eright to left\u0301",
    "\ud800 half a pair \udc00",
    "nothing\x00 \x1b[31mred",
]


@pytest.mark.parametrize("text", RUBBISH)
def test_a_result_of_any_signs_is_written_into_a_text_and_read_back(text: str) -> None:
    """Brackets, arrows and markers of its own open and close nothing, and a tokenizer can encode it."""
    call = Call("A", "x")
    (line,) = Toolbox([Any_(lambda request: text)]).run([call])
    assert line is not None and len(line.splitlines()) == 1
    line.encode("utf-8")
    (found,) = find(f"Before{write(call, line)} after.", ["A"])
    assert (found.call, found.result) == (call, line)
    assert remove(f"Before{write(call, line)} after.", ["A"]) == "Before after."


def test_a_result_of_a_megabyte_is_refused_unread() -> None:
    for long in ("x" * 1_000_000, " " * 1_000_000):
        toolbox = Toolbox([Any_(lambda request, long=long: long if request.input == "b" else "fine")])
        assert toolbox.run(calls(*"abc")) == ["fine", None, "fine"]
        assert toolbox.problems == {"A: too long": 1}


@pytest.mark.parametrize("error", [RuntimeError, SystemExit, KeyboardInterrupt, MemoryError, RecursionError])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_whatever_a_tool_raises_costs_its_call_only(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="nightjar")

    def answer(request: ToolRequest) -> str:
        if request.input in "bd":
            raise error(f"cannot do {request.input}")
        return request.input

    tool = Any_(answer)
    toolbox = Toolbox([tool])
    assert toolbox.run(calls(*"abcde")) == ["a", None, "c", None, "e"]
    assert toolbox.problems == {"A: failed": 2}
    assert caplog.text.count("tool A failed") == 1  # the first of a kind is logged
    # Another time it may succeed.
    tool.answer = lambda request: request.input
    assert toolbox.run(calls(*"abcde")) == list("abcde")


def test_the_calls_of_one_run_are_one_batch() -> None:
    """A tool that asks a model would give other last bits in a batch that depends on the threads."""
    first, second = Any_(lambda request: request.input), Any_(lambda request: "two")
    second.name = "B"
    toolbox = Toolbox([first, second])
    for number in range(50):
        inputs = [f"{number} {letter}" for letter in "abcab"]
        asked = [Call("A", text) for text in inputs] + [Call("B", inputs[0]), Call("C", "")]
        assert toolbox.run(asked) == [*inputs, "two", None]
        assert [request.input for request in first.batches[-1]] == inputs[:3]
    assert len(first.batches) == len(second.batches) == 50


@pytest.mark.parametrize(("own", "shared"), [(1.0, None), (60, 1.0)], ids=["of the tool", "of the toolbox"])
def test_a_request_that_hangs_costs_only_itself(release: threading.Event, own: float, shared: float) -> None:
    tool = Any_(hanging({"b"}, release))
    tool.seconds = own
    toolbox = Toolbox([tool], seconds=shared)
    assert toolbox.run(calls(*"abc")) == ["A", None, "C"]
    assert toolbox.problems == {"A: too slow": 1}


def test_a_tool_whose_runs_all_hang_is_not_run_again_until_one_ends(release: threading.Event) -> None:
    inputs = [str(number) for number in range(module.MOST_ABANDONED + 3)]
    tool = Any_(hanging(set(inputs), release))
    toolbox = Toolbox([tool], seconds=0.05)
    assert [toolbox.run(calls(text))[0] for text in inputs] == [None] * len(inputs)
    assert toolbox.problems == {"A: too slow": module.MOST_ABANDONED, "A: not run": 3}
    release.set()
    for thread in toolbox._queues["A"].abandoned:
        thread.join(60)
    assert toolbox.run(calls("z")) == ["Z"]


def test_the_cache_is_bounded() -> None:
    tool = Any_(lambda request: request.input)
    toolbox = Toolbox([tool], cached=3)
    assert toolbox.run(calls(*"abcdefgh")) == list("abcdefgh")
    assert len(toolbox._queues["A"].answers) == 3
    assert toolbox.run(calls(*"ah")) == ["a", "h"]
    assert sum(map(len, tool.batches)) == 9


def test_no_thread_remains() -> None:
    toolbox = Toolbox([Any_(lambda request: request.input)])
    before = set(threading.enumerate())
    toolbox.run(calls(*"abc"))
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()
