"""The stage with a chat server and with a local chat model: messages, tools as functions, choices by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar import params
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.question_set import Choice
from nightjar.core import tables
from nightjar.core.errors import NightjarError
from nightjar.models.tokenizer import load_tokenizer
from nightjar.params.chat import Chat
from nightjar.predict.conversation import named_choice
from nightjar.predict.requests import write_prompts
from stages._runtime.stage import StageRun
from tests.completions_server import Script, Served, said, serving
from tests.installed_package import install
from tests.nightjar.predict.test_served import answered, finish, project

TASK = {
    "definition": ["Count"],
    "positive_examples": [{"input": "two", "output": "2"}, {"input": "four", "output": "4"}],
    "negative_examples": [],
}


def chat_project(folder: Path, model: Path, url: str, **changes: Any) -> None:
    project(folder, model, url, weights="chat:{url}", task=TASK, **changes)


def chatted(
    script: Script, folder: Path, model: Path, **changes: Any
) -> tuple[Served, StageRun, list[dict[str, Any]]]:
    """Run the stage once with a chat server that answers by the script."""
    return answered(script, folder, model, weights="chat:{url}", task=TASK, **changes)


def test_a_question_is_one_message_and_the_facts_say_so(workdir: Path, tiny_model: Path) -> None:
    served, stage, rows = chatted(lambda body: said("<think>hm</think> 7."), workdir, tiny_model)
    assert [row["answers"] for row in rows] == [["7."]] * 4
    assert {(row["new_tokens"], row["prompt_tokens"]) for row in rows} == {(2, 10)}
    assert sorted(body["messages"][0]["content"] for body in served.asked) == sorted(
        row["prompt"] for row in rows
    )
    assert stage.details["server"]["interface"] == "chat"
    assert stage.details["server"]["tokens"] == {"prompt": 40, "completion": 8}
    assert stage.details["chat"]["examples_as_turns"] is False


@pytest.mark.parametrize(
    ("chat", "fault"),
    [
        ({"date": "2024-01-02"}, r"chat\.date: a server fills its template by its own clock"),
        ({"template_name": "rag"}, r"chat\.template_name: a server has its own template"),
    ],
)
def test_settings_of_a_template_are_refused_because_a_server_fills_its_own(
    workdir: Path, tiny_model: Path, chat: dict[str, str], fault: str
) -> None:
    chat_project(workdir, tiny_model, "http://127.0.0.1:9", chat=chat)
    with pytest.raises(NightjarError, match=fault):
        finish()


def test_a_system_message_and_examples_as_turns(workdir: Path, tiny_model: Path) -> None:
    chat = {"system_message": "Be brief.", "examples_as_turns": True}
    served, _, rows = chatted(lambda body: said("7"), workdir, tiny_model, chat=chat)
    talk = [(one["role"], one["content"]) for one in json.loads(rows[3]["prompt"])]
    assert talk == [
        ("system", "Be brief."),
        ("user", "Count\n\nInput: two"),
        ("assistant", "2"),
        ("user", "Input: four"),
        ("assistant", "4"),
        ("user", "Input: number 3"),
    ]
    assert json.loads(rows[3]["prompt"]) in [body["messages"] for body in served.asked]


def test_answers_that_the_limit_ended_within_their_reasoning_are_told(
    workdir: Path, tiny_model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        done = "number 3" in body["messages"][0]["content"]
        status, answer = said("<think>so 7</think> 7" if done else "<think>so", "stop" if done else "length")
        answer["usage"]["completion_tokens"] = body["max_tokens"]
        return status, answer

    _, _, rows = chatted(script, workdir, tiny_model)
    assert [row["answers"] for row in rows] == [[""], [""], [""], ["7"]]
    assert "3 answers of supernatinst are empty: the limit of tokens ended them" in caplog.text


def call(expression: str, number: int = 0) -> dict[str, Any]:
    function = {"name": "Calculator", "arguments": json.dumps({"input": expression})}
    return {"id": f"c{number}", "type": "function", "function": function}


def calling(tool_call: dict[str, Any]) -> Script:
    """A chat that makes this call, and then answers with its result."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return said(f"It is {last['content']}.")
        return said(None, "tool_calls", tool_calls=[tool_call])

    return script


def test_a_refusal_after_a_call_is_no_answer(workdir: Path, tiny_model: Path) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if body["messages"][-1]["role"] == "tool":
            return said(None, refusal="I cannot say.")
        return said(None, "tool_calls", tool_calls=[call("12 * 8")])

    _, stage, rows = chatted(script, workdir, tiny_model, calls="on")
    assert not rows and stage.rows_rejected == 4
    rejected = tables.read_rejected(Path("data/predict/supernatinst/served")).to_pylist()
    assert {row["reason"] for row in rejected} == {"refusal: I cannot say."}


def test_tools_are_functions_and_what_was_executed_is_recorded(workdir: Path, tiny_model: Path) -> None:
    served, _, rows = chatted(calling(call("12 * 8")), workdir, tiny_model, calls="on")
    assert {row["answers"][0] for row in rows} == {"It is 96."}
    assert {row["text"] for row in rows} == {" [Calculator(12 * 8) -> 96]It is 96."}
    assert [row["calls"] for row in rows] == [[{"tool": "Calculator", "input": "12 * 8", "result": "96"}]] * 4
    (function,) = next(body["tools"] for body in served.asked if "tools" in body)
    assert function["function"]["name"] == "Calculator"
    assert function["function"]["parameters"]["required"] == ["input"]


def test_neither_a_stop_text_nor_the_limit_of_an_answer_ends_a_call(workdir: Path, tiny_model: Path) -> None:
    """A model that calls on several lines, behind a server that ends texts as it is asked to."""
    long = "It is ninety-six, as twelve eights are. " * 40

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        first = body["messages"][0]["content"]
        if "tools" in body and "number 0" not in first:
            cut = body["max_tokens"] < 64 or "\n\n" in body.get("stop", ())
            return said(None) if cut else said(None, "tool_calls", tool_calls=[call("12 * 8")])
        return said("96.\n\nAnd more" if "number 1" in first else long)

    served, _, rows = chatted(script, workdir, tiny_model, calls="on")
    limit = params.load().predict.benchmark("supernatinst").max_new_tokens
    assert [len(row["calls"]) for row in rows] == [0, 1, 1, 1]
    tokenizer = load_tokenizer(tiny_model)
    assert long.startswith(answer := rows[0]["answers"][0])
    assert limit - 1 <= len(tokenizer.continuation(answer)) <= limit
    last = [body for body in served.asked if body["messages"][-1]["role"] == "tool"]
    assert {(body["max_tokens"], tuple(body["stop"])) for body in last} == {(limit, ("\n\n",))}


def test_after_the_last_call_there_are_no_tools_and_a_failed_call_counts(
    workdir: Path, tiny_model: Path
) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if "tools" in body:
            return said(None, "tool_calls", tool_calls=[call("no sum"), call("1 + 1", 1)])
        return said(" and ".join(one["content"] for one in body["messages"] if one["role"] == "tool"))

    _, _, rows = chatted(script, workdir, tiny_model, calls="on")
    assert {row["answers"][0] for row in rows} == {"no result and no more calls: give the answer"}
    assert [row["calls"] for row in rows] == [[]] * 4


@pytest.mark.parametrize("arguments", ["[" * 9000, '{"input": NaN}', '{"input": {"a": 1}}', "null"])
def test_hostile_arguments_are_a_call_without_a_result(
    workdir: Path, tiny_model: Path, arguments: str
) -> None:
    given = {"id": "c", "type": "function", "function": {"name": "Calculator", "arguments": arguments}}
    _, _, rows = chatted(calling(given), workdir, tiny_model, calls="on")
    assert {row["answers"][0] for row in rows} == {"It is no result."}


def test_disabled_is_without_tools(workdir: Path, tiny_model: Path) -> None:
    served, _, _ = chatted(lambda body: said("7"), workdir, tiny_model, calls="disabled")
    assert not any("tools" in body for body in served.asked)


def test_an_answer_with_tools_is_recorded_as_it_is_done(workdir: Path, tiny_model: Path) -> None:
    """A question does not wait until all others have called their tools."""
    healthy = [False]

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if "number 3" in body["messages"][0]["content"] and not healthy[0]:
            return 400, {"error": "broken"}
        return calling(call("12 * 8"))(body)

    with serving(script) as served:
        chat_project(workdir, tiny_model, served.url, calls="on", chat={"at_once": 1})
        with pytest.raises(NightjarError, match="broken"):
            finish()
        before, healthy[0] = len(served.asked), True
        _, rows = finish()
    assert {row["answers"][0] for row in rows} == {"It is 96."}
    assert len(served.asked) - before == 3, "one asks whether the model is shown tools"


OWN = """
import json
from nightjar.models import Completion, Model
from nightjar.models.interface import ChatReply, ToolCall

class Talker(Model):
    can = frozenset({"generate", "chat", "tools"})

    def __init__(self, argument):
        self.identity = {"says": argument}

    def converse(self, requests, wanted, tools, decoding):
        for number in wanted:
            last = requests[number].messages[-1]
            call = ToolCall("c", "Calculator", json.dumps({"input": "12 * 8"}))
            asks = last.role == "user"
            yield number, ChatReply(Completion("" if asks else f"It is {last.content}."), (call,) if asks else ())
"""


def test_a_chat_model_of_another_package_calls_tools(
    workdir: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workdir / "own_talker.py").write_text(OWN)
    install(workdir, "own-talker", "1.0", "nightjar.models", ["talker = own_talker:Talker"])
    monkeypatch.syspath_prepend(workdir)
    project(workdir, tiny_model, "", weights="entry:talker#x", task=TASK, calls="on")
    _, rows = finish()
    assert [row["calls"] for row in rows] == [[{"tool": "Calculator", "input": "12 * 8", "result": "96"}]] * 4
    assert {row["answers"][0] for row in rows} == {"It is 96."}


CHOICES = [
    Choice("positive", " positive"),
    Choice("negative", " negative"),
    Choice("not negative", " not negative"),
]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Positive.", "positive"),
        (" The answer is **negative**", "negative"),
        ("It is not negative!", "not negative"),
        ("positive or negative", None),
        ("neither", None),
        ("", None),
        ("positive\nnegative", "positive"),
        ("positively", None),
    ],
)
def test_a_choice_is_named_if_its_words_alone_are_in_the_first_line(text: str, named: str | None) -> None:
    assert named_choice(text, CHOICES) == named


def test_marks_belong_to_the_words_of_a_choice() -> None:
    choices = [Choice("book", " किताब"), Choice("letter", " त"), Choice("city", " Ko\u0308ln")]
    answers = [named_choice(text, choices) for text in ("किताब", "कुतुब", "KÖLN!", "त।")]
    assert answers == ["book", None, "city", "letter"]


def test_a_choice_is_asked_for_and_named_by_the_words_of_the_prompt(workdir: Path, tiny_model: Path) -> None:
    """The prompt of FEVER asks "Yes, No or Not Sure", and its demonstrations answer so."""
    said_of = {"a": "Not sure.", "b": "No", "c": "REFUTES", "d": "No, half of it"}

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        text = body["messages"][-1]["content"].splitlines()[1]
        return said(said_of[text], "error" if text == "d" else "stop")

    questions = [
        Question("classification", "fever", text, {"text": text}, ("REFUTES",), "fever", "fever", shared={})
        for text in said_of
    ]
    with serving(script) as served:
        source = f"chat:{served.url}"
        project(workdir, tiny_model, served.url, "classification", weights=source, questions=questions)
        _, rows = finish("classification-served")
    assert [row["answers"] for row in rows] == [["NOT ENOUGH INFO"], ["REFUTES"], [""]]
    rejected = tables.read_rejected(Path("data/predict/classification/served")).to_pylist()
    assert [(row["id"], row["reason"]) for row in rejected] == [("d", "error")]
    asked = served.asked[0]["messages"][-1]["content"]
    assert asked.endswith("Answer with one of: Yes, No, Not Sure.")


SHARED = {"demonstrations": [{"id": "d", "text": "dull", "label": "negative"}]}


def test_written_prompts_have_choices_and_with_chat_messages(workdir: Path, tiny_model: Path) -> None:
    parts = {"text": "a fine film", "choices": ["negative", "positive"]}
    row = {"benchmark": "classification", "task_id": "sst2", "id": "1", "parts": parts, "shared": SHARED}
    one = Question(**row, references=("positive",), track="sst2", category="sst2")
    project(workdir, tiny_model, "http://127.0.0.1:9", "classification", questions=[one])
    write_prompts(params.load(), "classification", Path("plain.jsonl"))
    chat = Chat(system_message="Be brief.", examples_as_turns=True)
    write_prompts(params.load(), "classification", Path("chat.jsonl"), chat=chat)
    (plain,) = map(json.loads, Path("plain.jsonl").read_text().splitlines())
    (talk,) = map(json.loads, Path("chat.jsonl").read_text().splitlines())
    assert plain["choices"] == talk["choices"] == ["negative", "positive"]
    assert plain["prompt"].startswith("Follow the demonstrations:\n") and "messages" not in plain
    assert [one["role"] for one in talk["messages"]] == ["system", "user", "assistant", "user"]
    assert talk["messages"][2]["content"] == "negative"
    assert talk["messages"][3]["content"].endswith("a fine film\nThe answer is")
