"""Calls in a text that a model continues: what it is asked, what is executed, and what the answer is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from nightjar.tools import Tool, Toolbox, ToolRequest
from nightjar.tools.text_decode import CALL_TOKENS, WrittenText, answer
from nightjar.tools.toolbox import Answered, Executed


class Doubler(Tool):
    """Doubles a number."""

    name, version = "Double", "1"

    def run(self, asked: Sequence[ToolRequest]) -> list[str | None]:
        return [str(2 * int(one.input)) if one.input.isdigit() else None for one in asked]


class Model:
    """Continues a prompt by the texts written down, a token a character, up to the limit; keeps what it was asked."""

    def __init__(self, **texts: str) -> None:
        self.texts = {key.replace("_", " "): text for key, text in texts.items()}
        self.asked: list[tuple[str, int]] = []

    def __call__(self, prompt: str, tokens: int) -> WrittenText:
        self.asked.append((prompt, tokens))
        text = max((key for key in self.texts if prompt.endswith(key)), key=len)
        whole = self.texts[text]
        return WrittenText(whole[:tokens], len(whole[:tokens]), len(whole) > tokens)


def written(model: Model, limit: int = 100, calls: int = 1, tools: Sequence[Tool] = (Doubler(),)) -> Answered:
    return answer(model, len, "Q", limit, Toolbox(tools), calls)


def test_a_call_is_cut_at_its_arrow_run_and_continued_with_its_result() -> None:
    model = Model()
    model.texts = {"Q": "It is [Double(4) -> 9] 9.", "8]": " 8."}
    found = written(model)
    assert found.text == "It is [Double(4) -> 8] 8."
    assert found.prediction == "It is 8."
    assert found.calls == (Executed("Double", "4", "8"),)
    # The call and its result do not count against the limit; "It is" does.
    assert model.asked == [("Q", 100), ("QIt is [Double(4) -> 8]", 95)]


def test_without_tools_the_text_is_what_the_model_wrote() -> None:
    text = " a -> b [Double(4) -> 9] "
    assert written(Model(Q=text), tools=()) == Answered(text, text.strip(), (), len(text))


def test_no_more_calls_than_allowed_are_run_and_none_is_in_the_prediction() -> None:
    model = Model()
    model.texts = {"Q": "[Double(1) ->", "2]": " [Double(2) -> 7] end"}
    found = written(model)
    assert [call.input for call in found.calls] == ["1"]
    assert found.prediction == "end"
    model.texts["4]"] = " end"
    found = written(model, calls=2)
    assert [call.result for call in found.calls] == ["2", "4"]
    assert found.text == "[Double(1) -> 2] [Double(2) -> 4] end"


@pytest.mark.parametrize("text", ["x [Double(four) -> 9] y", "x [Halve(4) -> 2] y", "x [Double(4)"])
def test_what_is_not_executed_is_not_recorded(text: str) -> None:
    found = written(Model(Q=text))
    assert found.calls == ()
    wanted = {"x [Double(four) -> 9] y": "x y", "x [Double(4)": "x"}
    assert found.prediction == wanted.get(text, text)


def test_a_call_that_the_limit_cuts_is_completed_and_what_follows_it_is_not() -> None:
    model = Model()
    model.texts = {"Q": "It is [Double(4) -> 9] 9.", "[Double(": "4) -> 9] and more", "8]": "8."}
    found = written(model, limit=14)
    assert found.text == "It is [Double(4) -> 8]8."
    assert [tokens for _, tokens in model.asked] == [14, CALL_TOKENS, 14 - len("It is")]
    # One that is no call after all is left out.
    model.texts["[Double("] = "and nothing"
    assert written(model, limit=14).text == "It is"
