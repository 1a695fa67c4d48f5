"""The client of chat servers against a server written here."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.models.backends import backend
from nightjar.models.interface import Decoding, Message, Request, ToolCall
from nightjar.models.servers.chat_server import ChatServer
from nightjar.models.servers.http_client import RequestLimits
from nightjar.params.chat import Chat
from tests.completions_server import Script, said, serving

ASKED = Request("How many?", [1, 2], 5, ("\n\n",))


def reply(script: Script, request: Request = ASKED, **options: Any) -> Any:
    with serving(script) as served, ChatServer(served.url, RequestLimits(retries=1)) as chat:
        return chat.reply(request, Decoding(), **options)


def test_a_source_that_begins_with_chat_is_a_chat_server() -> None:
    assert backend("chat:http://127.0.0.1:1") is ChatServer
    assert ChatServer.name("chat", "http://127.0.0.1:1#Large Model") == "Large Model"
    with pytest.raises(NightjarError, match="write chat:http://HOST:PORT"):
        ChatServer("nonsense")


def test_a_request_has_one_message_of_the_user_and_is_greedy() -> None:
    with serving(lambda body: said(" three ")) as served, ChatServer(served.url) as chat:
        ((number, text),) = chat.generate({7: ASKED}, [7], Decoding())
    assert (number, text.text, text.tokens, text.prompt_tokens, text.cut) == (7, " three ", 2, 10, False)
    assert served.asked == [
        {
            "model": "tiny",
            "messages": [{"role": "user", "content": "How many?"}],
            "max_tokens": 5,
            "temperature": 0,
            "stop": ["\n\n"],
            "repeat_penalty": 1.0,
            "repetition_penalty": 1.0,
        }
    ]


@pytest.mark.parametrize(
    ("answer", "text", "cut"),
    [
        (said("<think>12 boxes\n\nso 3</think>\nthree"), "three", False),
        (said("<think>12 boxes</think>\n\nthree\n\nAnd more"), "three", False),
        (said("12 boxes, so 3</think> three"), "three", False),
        (said("three", reasoning_content="12 boxes"), "three", False),
        (said("\n\nthree", reasoning="12 boxes"), "three", False),
        (said("three\n\nAnd more", "length"), "three", False),
        (said("three and", "length"), "three and", True),
        (said(None), "", False),
        (said("<think>12 boxes", "length"), "", True),
    ],
)
def test_reasoning_and_what_follows_a_stop_text_are_no_part_of_the_answer(
    answer: tuple[int, Any], text: str, cut: bool
) -> None:
    found = reply(lambda body: answer).text
    assert (found.text, found.cut) == (text, cut)


def test_a_refused_parameter_is_renamed_or_left_out_and_recorded(caplog: pytest.LogCaptureFixture) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if "max_tokens" in body:
            return 400, {
                "error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."}
            }
        if "temperature" in body:
            return 400, {"error": {"message": "'temperature' does not support 0 with this model."}}
        return said("three")

    with serving(script) as served, ChatServer(served.url) as chat:
        assert [text.text for _, text in chat.generate({0: ASKED, 1: ASKED}, [0], Decoding())] == ["three"]
        assert [text.text for _, text in chat.generate({0: ASKED, 1: ASKED}, [1], Decoding())] == ["three"]
        facts = chat.facts()["server"]
    assert facts["refused"] == {"max_tokens": "max_completion_tokens", "temperature": "left out"}
    assert facts["tokens"] == {"prompt": 20, "completion": 4}
    assert [one.message.partition(" refuses ")[2] for one in caplog.records] == [
        "max_tokens: it is sent as max_completion_tokens from now on",
        "temperature: it is left out from now on",
    ]
    assert len(served.asked) == 4 and served.asked[-1]["max_completion_tokens"] == 5


def test_a_request_that_is_refused_for_something_else_changes_no_other() -> None:
    """As a prompt that is too long: the message names parameters too."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if len(body["messages"][0]["content"]) > 20:
            return 400, {"error": "prompt and max_tokens exceed the context; lower temperature, stop"}
        return said("three")

    with serving(script) as served, ChatServer(served.url) as chat:
        with pytest.raises(NightjarError, match="exceed the context"):
            chat.reply(replace(ASKED, prompt="x" * 30), Decoding())
        chat.reply(ASKED, Decoding())
    assert served.asked[-1]["max_tokens"] == 5 and served.asked[-1]["temperature"] == 0


def test_a_refusal_is_no_answer_and_calls_no_tool() -> None:
    call = {"id": "a1", "type": "function", "function": {"name": "Calculator", "arguments": "{}"}}
    answer = said("half", refusal="I cannot.", tool_calls=[call])
    answered = reply(lambda body: answer, tools=[TOOL])
    assert (answered.text.text, answered.text.failure) == ("", "refusal: I cannot.") and not answered.calls


def test_an_error_within_the_reasoning_changes_no_other_request() -> None:
    with serving(lambda body: said("<think>12", "error")) as served, ChatServer(served.url) as chat:
        assert chat.reply(ASKED, Decoding()).text.failure == "error"
    assert len(served.asked) == 1


def test_samples_are_drawn_in_one_request_where_the_server_can() -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        one = {"message": {"content": f"seed {body['seed']}"}, "finish_reason": "stop"}
        return 200, {"choices": [one] * body.get("n", 1)}

    drawn = Decoding(0.7, 0.9, seed=40)
    with serving(script) as served, ChatServer(served.url) as chat:
        ((_, texts),) = chat.sample({0: ASKED}, [0], 3, drawn)
    assert [one.text for one in texts] == ["seed 40"] * 3
    assert {key: served.asked[0][key] for key in ("n", "temperature", "top_p", "seed")} == {
        "n": 3,
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 40,
    }


def test_samples_are_drawn_one_by_one_where_the_server_refuses_n() -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if "n" in body:
            return 400, {"error": {"message": "n is not supported"}}
        return 200, {"choices": [{"message": {"content": f"seed {body['seed']}"}, "finish_reason": "stop"}]}

    with serving(script) as served, ChatServer(served.url) as chat:
        ((_, texts),) = chat.sample({0: ASKED}, [0], 3, Decoding(0.7, 0.9, seed=40))
    assert [one.text for one in texts] == ["seed 40", "seed 41", "seed 42"]
    assert len(served.asked) == 4


TOOL = {"name": "Calculator", "description": "Computes.", "parameters": {"type": "object", "properties": {}}}


def test_calls_of_tools_are_given_as_they_are() -> None:
    call = {
        "id": "a1",
        "type": "function",
        "function": {"name": "Calculator", "arguments": '{"input": "1+1"}'},
    }
    with (
        serving(lambda body: said(None, "tool_calls", tool_calls=[call])) as served,
        ChatServer(served.url) as chat,
    ):
        found = chat.reply(ASKED, Decoding(), tools=[TOOL])
        assert found.calls == (ToolCall("a1", "Calculator", '{"input": "1+1"}'),)
        assert served.asked[0]["tools"] == [{"type": "function", "function": TOOL}]
        assert served.asked[0]["tool_choice"] == "auto"
        answered = (Message("assistant", "", found.calls), Message("tool", "2", call_id="a1"))
        chat.reply(replace(ASKED, messages=(*ASKED.conversation, *answered)), Decoding(), tools=[TOOL])
    first, compared, second = served.asked
    assert compared == {name: first[name] for name in compared if name != "max_tokens"} | {"max_tokens": 1}
    assert first.keys() - compared == {"tools", "tool_choice"}, "asked once whether the model is shown them"
    assert second["messages"][1:] == [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "2", "tool_call_id": "a1"},
    ]


def test_a_server_that_shows_its_model_no_tools_is_one_line() -> None:
    def script(usage: dict[str, int]) -> Script:
        # Bytes, because the small server adds the tokens of the tools to what is no bytes.
        answer = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": usage}
        return lambda body: (200, json.dumps(answer).encode())

    assert reply(script({}), tools=[TOOL]).text.text == "a", "it counts no tokens"
    with pytest.raises(
        NightjarError, match="is shown no tools: the prompt has 10 tokens with them and without"
    ):
        reply(script({"prompt_tokens": 10}), tools=[TOOL])


def test_tools_are_checked_once_for_all_threads() -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if "tools" in body:
            together.wait(30)
        return said("three")

    together = threading.Barrier(4)
    with serving(script) as served, ChatServer(served.url) as chat:
        list(chat.converse(dict.fromkeys(range(4), ASKED), range(4), [TOOL], Decoding()))
    assert sorted("tools" in body for body in served.asked) == [False] + [True] * 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (said("", tool_calls=3), "not a short list"),
        (said("", tool_calls=[{"function": {}}]), "has no name"),
        (said("", tool_calls=[{"function": {"name": "a", "arguments": "x" * 10_001}}]), "too long"),
    ],
)
def test_a_hostile_call_of_a_tool_is_one_line(answer: tuple[int, Any], words: str) -> None:
    with pytest.raises(NightjarError, match=words):
        reply(lambda body: answer, tools=[TOOL])


def test_a_stop_text_that_ended_the_reasoning_is_not_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    written = "<think>12 boxes\n\nso 3</think>\n\nthree\n\nAnd more"

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if "stop" in body:
            together.wait(30)
        return said(written.partition("\n\n")[0] if "stop" in body else written)

    asked, together = dict.fromkeys(range(4), ASKED), threading.Barrier(3)
    with serving(script) as served, ChatServer(served.url) as chat:
        texts = dict(chat.generate(asked, [0, 1, 2], Decoding()))
        texts |= dict(chat.generate(asked, [3], Decoding()))
        facts = chat.facts()["server"]
    assert len(texts) == 4 and {text.text for text in texts.values()} == {"three"}
    assert ["stop" in body for body in served.asked] == [True] * 3 + [False] * 4
    assert facts["refused"] == {"stop": "left out"}
    line = f"chat:{served.url} ends reasoning at a text of stop: it is left out from now on"
    assert [one.message for one in caplog.records] == [line]


def test_a_name_that_is_refused_by_several_requests_at_once_has_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if "stop" in body:
            together.wait(30)
            return 422, {"detail": "stop is not supported"}
        return said("three\n\nfour")

    together = threading.Barrier(4)
    with serving(script) as served, ChatServer(served.url) as chat:
        texts = dict(chat.generate(dict.fromkeys(range(4), ASKED), range(4), Decoding()))
    assert {text.text for text in texts.values()} == {"three"}
    assert [one.message for one in caplog.records] == [
        f"chat:{served.url} refuses stop: it is left out from now on"
    ]


def test_four_stop_texts_are_sent_and_all_are_looked_for() -> None:
    stops = ("a", "b", "c", "d", "E")
    with serving(lambda body: said("three E d")) as served, ChatServer(served.url) as chat:
        assert chat.reply(replace(ASKED, stop=stops), Decoding()).text.text == "three "
    assert served.asked[0]["stop"] == ["a", "b", "c", "d"]


@pytest.fixture()
def used(tmp_path: Path) -> Path:
    """The file with the tokens of a run."""
    return tmp_path / "tokens.json"


def test_a_limit_of_tokens_ends_the_run_in_one_line(used: Path) -> None:
    """The limit is that of the run: of other stages, and of earlier processes too."""
    with serving(lambda body: said("three")) as served:
        with ChatServer(served.url) as chat:
            chat.chat = Chat(token_limit=20)
            chat.keep_tokens(used, "first")
            chat.reply(ASKED, Decoding())
        for _ in range(2):
            with ChatServer(served.url) as chat:
                chat.chat = Chat(token_limit=20)
                chat.keep_tokens(used, "second")
                if len(served.asked) < 2:
                    chat.reply(ASKED, Decoding())
                assert chat.facts()["server"]["tokens"] == {"prompt": 10, "completion": 2}
                with pytest.raises(NightjarError, match="the limit of 20 tokens is reached"):
                    chat.reply(ASKED, Decoding())
    assert len(served.asked) == 2


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 3}', '{"a": {"prompt": 1, "completion": "2"}}'])
def test_damaged_counts_of_tokens_are_one_line(used: Path, text: str) -> None:
    used.write_text(text)
    with pytest.raises(NightjarError, match=r"tokens.json.* delete it"):
        ChatServer("http://127.0.0.1:9").keep_tokens(used, "first")


def test_a_limit_of_tokens_needs_a_server_that_counts_them() -> None:
    answer = (200, {"choices": [{"message": {"content": "three"}}]})
    with serving(lambda body: answer) as served, ChatServer(served.url) as chat:
        assert chat.reply(ASKED, Decoding()).text.text == "three"
        chat.chat = Chat(token_limit=20)
        with pytest.raises(NightjarError, match="it does not count the tokens, and a limit is set"):
            chat.reply(ASKED, Decoding())
