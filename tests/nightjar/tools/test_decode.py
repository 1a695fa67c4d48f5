"""Decoding with tools, on a model whose tokens are written down: what is run, recorded, taken back and forbidden."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import torch

from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion
from nightjar.models.engine.generation import generate
from nightjar.models.engine.loading import load, load_tokenizer, prepare
from nightjar.models.engine.sampling import Sampling, generator_for
from nightjar.models.engine.sequences import GeneratedSequence
from nightjar.tools import (
    Answered,
    Call,
    Executed,
    Tool,
    Toolbox,
    ToolRequest,
    answer,
    find,
    make,
    write,
)
from nightjar.tools.decode import ATTEMPTS, ToolController, opening_tokens
from tests.scripted_model import Script, scripted, writes

DAY = date(2026, 3, 13)
TOOLS = ("calculator", "calendar")


class Echo(Tool):
    """Answers with its input in capitals, once it may; remembers what it was asked."""

    version = "1"

    def __init__(self, name: str = "QA", go: threading.Event | None = None) -> None:
        self.name, self.go, self.asked = name, go, list[str]()

    def run(self, asked: Sequence[ToolRequest]) -> list[str | None]:
        if self.go is not None:
            self.go.wait(60)
        self.asked += [request.input for request in asked]
        return [request.input.upper() for request in asked]


def ask(
    folder: Path, script: Script, *names: str, tools: Sequence[Tool] = (), **options: Any
) -> list[Answered]:
    """The answers to the prompts "name:"."""
    lm = scripted(folder, script)
    toolbox = Toolbox([*map(make, TOOLS), *tools])
    options = {"days": [DAY] * len(names), "max_new_tokens": 48} | options
    return answer(lm, [f"{name}:" for name in names], toolbox, **options)


@pytest.mark.parametrize(
    ("written", "executed"),
    [
        ("12 * 3 = [Calculator(12 * 3) -> 36] 36.", ("Calculator", "12 * 3", "36")),
        ("= [Calculator(12 * 3)-> 36] 36.", ("Calculator", "12 * 3", "36")),
        ("= [Calculator(12 * 3)→ 36] 36.", ("Calculator", "12 * 3", "36")),
        (" [Calculator((3 + 1) / 3) -> 1.33] 1.33", ("Calculator", "(3 + 1) / 3", "1.33")),
        (
            "So [Calendar() -> Today is Friday, March 13, 2026.] Friday.",
            ("Calendar", "", "Today is Friday, March 13, 2026."),
        ),
        ('A [QA("who?") -> WHO?] who.', ("QA", "who?", "WHO?")),
        # An arrow, and escaped brackets, inside of an input.
        ('A [QA("a -> b") -> A -> B] end', ("QA", "a -> b", "A -> B")),
        ("A [Echo(a -> (b -> c)) -> A -> (B -> C)] end", ("Echo", "a -> (b -> c)", "A -> (B -> C)")),
        ('A [QA("x \\[1\\]") -> X \\[1\\]] end', ("QA", "x [1]", "X [1]")),
    ],
)
def test_at_the_arrow_the_tool_is_run_and_its_result_fed_in(
    tiny_model: Path, written: str, executed: tuple[str, str, str]
) -> None:
    (given,) = ask(tiny_model, writes(a=written), "a", tools=[Echo(), Echo("Echo")])
    assert given.text == written
    (call,) = given.calls
    assert (call.tool, call.input, call.result) == executed
    before, _, after = written.partition(f" [{executed[0]}(")
    assert written[: call.start] == before
    assert written[call.end :] == after[after.rindex("]") + 1 :]
    assert given.prediction == (before + after[after.rindex("]") + 1 :]).strip()


def attempt(broken: str) -> Script:
    """Writes "So" and then would call: `broken` follows the marker. Without the marker it writes " nothing."."""

    def script(text: str) -> list[str | None]:
        written = text.partition(":")[2]
        if "[" in written:
            rest = f"So [{broken}".removeprefix(written)
            return [rest or " and so on"]
        if not "So nothing.".startswith(written):
            raise AssertionError(written)
        return [rest, " ["] if (rest := "So nothing.".removeprefix(written)) else [None, " ["]

    return script


@pytest.mark.parametrize(
    "broken",
    [
        # Closed without an arrow: no tool was run.
        "Calendar(2023, 2023, 2023)] 5",
        # No result.
        "Calculator(1 / 0) ->",
        "Calculator(" + "9" * 40 + ") ->",
        "Calendar(tomorrow) ->",
        # No call, or of no tool.
        "QA(who?) ->",
        "Tuesday",
        " Calculator(3) ->",
        "Calculator(3\n",
        "Calculator(3) is",
        "Calculator(" + "9 + " * 60,
    ],
)
def test_an_attempt_that_comes_to_nothing_leaves_no_trace(tiny_model: Path, broken: str) -> None:
    (given,) = ask(tiny_model, attempt(broken), "a", top_k=2)
    assert given == Answered("So nothing.", "So nothing.", (), given.tokens)
    (plain,) = ask(tiny_model, attempt(broken), "a", calls="off")
    assert plain.text == "So nothing."
    assert plain.tokens < given.tokens


def test_an_end_token_inside_of_a_call_takes_it_back(tiny_model: Path) -> None:
    def script(text: str) -> list[str | None]:
        written = text.partition(":")[2]
        return [None] if "[" in written else ["yes"[len(written) :] or None, " ["]

    (given,) = ask(tiny_model, script, "a", top_k=2)
    assert (given.text, given.calls) == ("yes", ())


def test_a_call_taken_back_does_not_use_up_the_one_call(tiny_model: Path) -> None:
    """The first attempt is closed without an arrow; the one behind it is run."""

    def script(text: str) -> list[str | None]:
        written = text.partition(":")[2]
        if written.startswith(" ["):
            return [" [Calendar(2023)]"[len(written) :] or None]
        return (
            [wanted[len(written) :], " ["]
            if (wanted := "= [Calculator(3 * 4) -> 12] 12.") != written
            else [None]
        )

    (given,) = ask(tiny_model, script, "a", top_k=2)
    assert given.text == "= [Calculator(3 * 4) -> 12] 12."
    assert [call.tool for call in given.calls] == ["Calculator"]
    assert given.prediction == "= 12."


def test_text_that_looks_like_a_call_is_none(tiny_model: Path) -> None:
    """Written with another spelling of the marker, with a result that is wrong: nothing was run."""
    looks = "So[Calculator(3 * 4) -> 15] is 15"
    tool = Echo("Calculator")
    lm = scripted(tiny_model, writes(a=looks, b=f"{looks} [Calculator(x) -> X] X"))
    given = answer(lm, ["a:", "b:"], Toolbox([tool]), max_new_tokens=60)
    assert given[0] == Answered(looks, looks, (), given[0].tokens)
    # Of the call that was run only its own text is removed.
    assert given[1].calls == (Executed("Calculator", "x", "X", len(looks), len(looks) + 21),)
    assert given[1].prediction == f"{looks} X"
    assert tool.asked == ["x"]


def test_several_calls_are_recorded_in_order(tiny_model: Path) -> None:
    written = "a [Calculator(1 + 1) -> 2] 2, é [Calculator(2 + 2) -> 4] 4, [Calculator(3) -> 3] 3"
    (given,) = ask(tiny_model, writes(a=written), "a", max_calls=3)
    assert given.text == written
    assert [(call.input, call.result) for call in given.calls] == [("1 + 1", "2"), ("2 + 2", "4"), ("3", "3")]
    assert "".join(written[call.start : call.end] for call in given.calls) == (
        " [Calculator(1 + 1) -> 2] [Calculator(2 + 2) -> 4] [Calculator(3) -> 3]"
    )
    assert given.prediction == "a 2, é 4, 3"


@pytest.mark.parametrize("sampled", [False, True])
def test_a_call_may_follow_the_result_of_another_and_use_it(tiny_model: Path, sampled: bool) -> None:
    """The marker is only second behind the bracket: a call starts there if top_k and max_calls allow it."""
    first, second = " [Calculator(12 * 3) -> 36]", " [Echo(36 + é) -> 36 + É]"

    def script(text: str) -> list[str | None]:
        _, bracket, rest = text.partition(":")[2].rpartition("]")
        if not bracket:
            return [f"={first}".removeprefix(rest)]
        if rest.startswith(" ["):
            return [second.removeprefix(rest)]
        return [" so".removeprefix(rest) or None, *([] if rest else [" ["])]

    sampling = Sampling(0.1, [generator_for(2, "a")]) if sampled else None
    echo = Echo("Echo")
    (given,) = ask(tiny_model, script, "a", tools=[echo], top_k=2, max_calls=2, sampling=sampling)
    assert given.text == f"={first}{second} so" and given.prediction == "= so"
    assert given.calls == (
        Executed("Calculator", "12 * 3", "36", 1, 1 + len(first)),
        Executed("Echo", "36 + é", "36 + É", 1 + len(first), 1 + len(first) + len(second)),
    )
    assert echo.asked == ["36 + é"]
    for options in ({"top_k": 1, "max_calls": 2}, {"top_k": 2, "max_calls": 1}):
        (given,) = ask(tiny_model, script, "a", tools=[Echo("Echo")], sampling=sampling, **options)
        assert given.text == f"={first} so"
        assert [call.tool for call in given.calls] == ["Calculator"]


def greedy_for(marker: str) -> Script:
    """A model that would always write `marker`, and second "x"."""
    return lambda text: [marker, "x"]


@pytest.mark.parametrize("options", [{"calls": "disabled"}, {"max_calls": 0}, {"top_k": 0}])
@pytest.mark.parametrize("marker", [" [", "["])
def test_disabled_the_marker_is_never_written(tiny_model: Path, options: dict[str, Any], marker: str) -> None:
    (given,) = ask(tiny_model, greedy_for(marker), "a", max_new_tokens=5, **options)
    assert given.text == "xxxxx"
    sampling = Sampling(1.0, [generator_for(1, "a")])
    (sampled,) = ask(tiny_model, greedy_for(marker), "a", max_new_tokens=40, sampling=sampling, **options)
    assert "[" not in sampled.text


def test_off_nothing_is_steered(tiny_model: Path) -> None:
    (given,) = ask(tiny_model, greedy_for(" ["), "a", max_new_tokens=5, calls="off")
    assert given == Answered(" [" * 5, "[ [ [ [ [", (), 5)
    lm = scripted(tiny_model, greedy_for(" ["))
    assert answer(lm, ["a:"], calls="off", max_new_tokens=5) == [given]


@pytest.mark.parametrize("sampled", [False, True])
def test_after_the_last_call_the_marker_is_not_written(tiny_model: Path, sampled: bool) -> None:
    """Nor after the last attempt, neither greedily nor by sampling."""

    def script(text: str) -> list[str | None]:
        written = text.partition(":")[2]
        if written.startswith(done := " [Calculator(3) -> 3]"):
            return [" [", "x"]
        return [done.removeprefix(written), "x"]

    sampling = Sampling(0.1, [generator_for(2, "a")]) if sampled else None
    (given,) = ask(tiny_model, script, "a", max_new_tokens=20, sampling=sampling)
    assert [call.input for call in given.calls] == ["3"]
    assert given.text.count("[") == 1
    assert given.text == " [Calculator(3) -> 3]" + "x" * 20
    (failed,) = ask(tiny_model, greedy_for(" ["), "a", max_new_tokens=20, sampling=sampling)
    assert "[" not in failed.text
    # The marker and what follows it, for each attempt.
    assert failed.tokens == 20 + ATTEMPTS * 2


def test_sampling_does_not_draw_a_marker_that_is_not_among_the_likeliest(tiny_model: Path) -> None:
    """It would be the text of a call that no tool is run for."""
    lm = scripted(tiny_model, lambda text: ["x", "y", " ["])
    flat = Sampling(50.0, [generator_for(n, "a") for n in range(8)])
    for given in answer(
        lm, ["a:"] * 8, Toolbox([make("calculator")]), top_k=2, sampling=flat, max_new_tokens=60
    ):
        assert " [" not in given.text


def test_opening_tokens_are_all_spellings_of_an_opening(tiny_model: Path) -> None:
    lm = scripted(tiny_model, greedy_for("x"))
    more = {" [Cal", "([", " [[", "[Calculator(3", "[]", "[Cat", " ['", "[Q", "\n["}
    lm.tokenizer.backend.add_tokens(sorted(more))
    opened = {lm.tokenizer.decode([id]) for id in opening_tokens(lm, ["Calculator", "Calendar"])}
    assert opened == {"[", " [", " [Cal", "([", " [[", "[Calculator(3", "\n["}
    assert {lm.tokenizer.decode([id]) for id in opening_tokens(lm, ["QA"])} == {
        "[",
        " [",
        "([",
        " [[",
        "[Q",
        "\n[",
    }


class MadeToCall(ToolController):
    """Makes each row begin with the tokens `begin` has for it; the model then continues as it likes."""

    begin: Sequence[list[int]] = ()

    def choose(self, row: GeneratedSequence, logits: torch.Tensor) -> int | None:
        begin = self.begin[row.number]
        if len(row.ids) >= len(begin):
            return super().choose(row, logits)
        self.states[row.number].opened = 0
        return begin[len(row.ids)]


def test_how_long_a_tool_takes_changes_nothing(tiny_model: Path) -> None:
    """A random model in bfloat16, where a last bit can decide between two tokens."""
    prepare(seed=0, threads=1)
    lm = load(tiny_model, "bfloat16")
    prompts = [lm.tokenizer.encode(f"{n} boxes of {n + 3} pens:") for n in range(6)]
    calls = ["", " [A(b) ->", "", " [A(c and d) ->", " [B(e) ->", " [A(f) ->"]

    def run(**seconds: float) -> list[Completion]:
        class Late(Echo):
            def run(self, asked: Sequence[ToolRequest]) -> list[str | None]:
                time.sleep(seconds[self.name])
                return super().run(asked)

        controller = MadeToCall(lm, Toolbox([Late("A"), Late("B")]), top_k=0, max_calls=1)
        for number, prompt in enumerate(prompts):
            controller.enter(number, prompt)
        controller.begin = [lm.tokenizer.encode(call) for call in calls]
        results = generate(lm, prompts, 24, controller=controller)
        assert [len(state.executed) for state in controller.states.values()] == [0, 1, 0, 1, 1, 1]
        return results

    fast = run(A=0, B=0)
    assert fast[3].text.startswith(" [A(c and d) -> C AND D]")
    assert run(A=0.1, B=0) == run(A=0, B=0.1) == fast


@pytest.mark.parametrize("options", [{}, {"batch_size": 1}])
def test_a_row_that_waits_does_not_hold_the_others(tiny_model: Path, options: dict[str, int]) -> None:
    """The tool has its results only when another row, or the next prompt, is decoded: else this would not end."""
    go = threading.Event()
    answers = {"a": "x [QA(one) -> ONE] end", "b": "no call" + " at all" * 8, "c": "[ [QA(two) -> TWO] x"}
    inner = writes(**answers)

    def script(text: str) -> list[str | None]:
        found = inner(text)
        if text.startswith("b:") and found == [None]:
            go.set()
        return found

    tool = Echo(go=go)
    slow = ask(tiny_model, script, "a", "b", "c", tools=[tool], **options)
    assert go.is_set()
    assert [given.text for given in slow] == list(answers.values())
    assert sorted(tool.asked) == ["one", "two"]
    assert ask(tiny_model, inner, "a", "b", "c", tools=[Echo()]) == slow


def test_a_text_may_end_with_the_letters_of_a_stop_string_in_a_result(tiny_model: Path) -> None:
    """Stop strings end what the model writes; a result, or a call, is not searched for them."""
    written = "x [Calculator(1.5 + 1) -> 2.50] y. z"
    (given,) = ask(tiny_model, writes(a=written), "a", stop=["."])
    assert given.text == "x [Calculator(1.5 + 1) -> 2.50] y"
    assert given.prediction == "x y"


def test_calls_and_results_do_not_count_against_the_limit(tiny_model: Path) -> None:
    class Long(Echo):
        def run(self, asked: Sequence[ToolRequest]) -> list[str | None]:
            return [" ".join(["word"] * 50) for _ in asked]

    written = f"x [QA(1) -> {' '.join(['word'] * 50)}] abcdefgh"
    (given,) = ask(tiny_model, writes(a=written), "a", tools=[Long()], max_new_tokens=6)
    lm = load_tokenizer(tiny_model)
    assert len(lm.encode(given.prediction)) == 6
    assert written.startswith(given.text) and given.prediction.startswith("x ab")
    assert given.tokens > 200


def test_special_tokens_in_a_result_do_not_end_the_text(tiny_model: Path) -> None:
    class Rude(Echo):
        def run(self, asked: Sequence[ToolRequest]) -> list[str | None]:
            return ["<|end|> so" for _ in asked]

    (given,) = ask(tiny_model, writes(a="x [QA(1) ->  so] !"), "a", tools=[Rude()])
    assert given.text.endswith("so] !")


def test_what_cannot_be_asked_is_one_line(tiny_t5: Path, tiny_model: Path) -> None:
    lm = load(tiny_t5)
    ids = lm.tokenizer.encode("2 + 2 =")
    for calls in ("on", "disabled"):
        with pytest.raises(NightjarError, match="calling tools needs a causal model"):
            answer(lm, [ids], Toolbox([make("calculator")]), calls=calls, max_new_tokens=4)
    plain = generate(lm, [ids], 4)[0].text
    assert answer(lm, [ids], calls="off", max_new_tokens=4)[0].text == plain
    for none in (None, Toolbox(())):
        with pytest.raises(NightjarError, match="no tools are given"):
            answer(scripted(tiny_model, greedy_for("x")), ["a:"], none)


class Bad(Echo):
    """A tool that does what its name says; all the ways in which one can fail are in the tests of the toolbox."""

    def run(self, asked: Sequence[ToolRequest]) -> list[str | None]:
        self.asked += [request.input for request in asked]
        if self.name == "Raises":
            raise RuntimeError("no [Calculator(1) ->")
        if self.name == "Hangs":
            threading.Event().wait(30)
        return [" [Markers(7) -> 5] -> → \\[Calculator(1)"] * len(asked)


@pytest.mark.parametrize(
    ("name", "result"),
    [("Raises", None), ("Hangs", None), ("Markers", "[Markers(7) -> 5] -> → \\[Calculator(1)")],
)
def test_a_bad_tool_costs_its_own_call_only(tiny_model: Path, name: str, result: str | None) -> None:
    """It is called once; another call of the same text, and the other texts, are not affected."""
    call = f"[{name}(7) ->"
    fed = None if result is None else write(Call(name, "7"), result).removeprefix(f" {call}")
    good = "x [Calculator(3 * 4) -> 12] 12"

    def script(text: str) -> list[str | None]:
        row, _, written = text.partition(":")
        if row == "b":
            return writes(b=good)(text)
        # The bad call first; where it comes to nothing, the model writes on and calls the calculator.
        begun = f"y {call}"
        if begun.startswith(written) and written != begun and (written == "" or "[" in written):
            return [begun[len(written) :]]
        wanted = (f"{begun}{fed} ok" if written.startswith(begun) else "y ok") + good[1:]
        return [wanted[len(written) :] or None, *([begun[1:]] if written == "y" else [])]

    tool = Bad(name)
    lm = scripted(tiny_model, script)
    toolbox = Toolbox([make("calculator"), tool], seconds=2.0)
    given, other = answer(lm, ["a:", "b:"], toolbox, top_k=2, max_calls=2, max_new_tokens=60)
    assert other.text == good and [call.input for call in other.calls] == ["3 * 4"]
    assert tool.asked == ["7"]
    assert [(one.tool, one.result) for one in given.calls] == [
        *([(name, result)] if result is not None else []),
        ("Calculator", "12"),
    ]
    # What was run is found again in the text, whatever the result looks like.
    assert [found.result for found in find(given.text, (name, "Calculator"))] == [
        one.result for one in given.calls
    ]
    assert given.prediction == "y ok 12"


def test_each_row_has_its_own_day_and_forbidden_tools(tiny_model: Path) -> None:
    texts = {
        "a": "it is [Calendar() -> Today is Thursday, February 29, 2024.] 29. and more",
        "b": "x [Calendar() -> Today",
    }
    lm = scripted(tiny_model, writes(**texts))
    controller = ToolController(lm, Toolbox(map(make, TOOLS)), top_k=10, max_calls=1)
    prompts = [lm.tokenizer.encode("a:"), lm.tokenizer.encode("b:")]
    controller.enter(0, prompts[0], date(2024, 2, 29))
    controller.enter(1, prompts[1], date(2024, 2, 29), frozenset({"Calendar"}))
    first, second = generate(lm, prompts, 40, [". and"], controller=controller)
    assert controller.answered(0, first.text, 0).prediction == "it is 29"
    assert "[" not in second.text and controller.answered(1, second.text, 0).calls == ()


@pytest.mark.parametrize("top_k", [0, 1, 3, 10])
@pytest.mark.parametrize("before", [0, 1, 2, 3, 9, 10])
def test_a_call_starts_where_its_marker_is_among_the_k_likeliest(
    tiny_model: Path, top_k: int, before: int
) -> None:
    """`before` tokens are likelier than the marker."""
    call = " [Calculator(3) -> 3]"

    def script(text: str) -> list[str | None]:
        written = text.partition(":")[2]
        if written.startswith(" ["):
            return [call[len(written) :] or None]
        return [*"abcdefghij"[:before], " ["] if not written else [None]

    (given,) = ask(tiny_model, script, "a", top_k=top_k)
    assert given.text == (call if before < top_k else "a" if before else given.text)
    assert len(given.calls) == (before < top_k)
