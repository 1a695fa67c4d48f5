"""The client of completion servers against a server written here."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.models.http_client import KEY, Limits
from nightjar.models.model import Score, Text
from nightjar.models.server import Address, Server, Unscored
from tests.completions_server import completion, serving


def ask(url: str, attempts: int = 2, **options: Any) -> Text:
    limits = Limits(attempts=attempts, pause=0.0)
    with Server(Address.parse(f"server:{url}"), limits) as server:
        return server.complete("A prompt", options.get("max_tokens", 5), options.get("stop", ("\n\n",)))


def test_a_request_is_greedy_and_has_the_exact_prompt() -> None:
    with serving(lambda body: completion(" yes", "length", completion_tokens=1, prompt_tokens=2)) as served:
        assert ask(f"{served.url}/v1/") == Text(" yes", True, 1, 2)
    penalties = {"repeat_penalty": 1.0, "repetition_penalty": 1.0}
    wanted = {"model": "tiny", "prompt": "A prompt", "max_tokens": 5, "temperature": 0, "stop": ["\n\n"]}
    assert served.asked == [wanted | penalties]


def test_a_server_that_refuses_unknown_names_is_asked_without_them() -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if "repeat_penalty" in body:
            return 400, {"error": {"message": "Unrecognized request argument: repeat_penalty"}}
        return completion("yes")

    with serving(script) as served, Server(Address.parse(f"server:{served.url}")) as server:
        assert [server.complete("a", 1, ()).text, server.complete("b", 1, ()).text] == ["yes", "yes"]
        assert not server.neutral
    assert ["repeat_penalty" in body for body in served.asked] == [True, False, False]


def test_the_key_is_a_header_and_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "secret-1")
    refusal = 400, {"error": "the key secret-1 is wrong"}
    with serving(lambda body: refusal) as served, pytest.raises(NightjarError) as raised:
        ask(served.url)
    assert "secret-1" not in str(raised.value)
    assert served.headers[0]["Authorization"] == "Bearer secret-1"
    monkeypatch.setenv(KEY, "two\nlines")
    with pytest.raises(NightjarError, match="no header can have") as raised:
        ask(served.url)
    assert "two" not in str(raised.value)


def test_a_fault_that_passes_is_retried() -> None:
    answers = [(503, b"busy"), (429, {}), completion("yes")]
    with serving(lambda body: answers.pop(0)) as served:
        assert ask(served.url, attempts=3).text == "yes"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            (400, {"error": {"message": "prompt too\nlong"}}),
            r"it refuses the request \(400: prompt too long\)",
        ),
        ((401, {"error": "who?"}), r"it refuses the key \(401\); set NIGHTJAR_SERVER_KEY"),
        ((404, {}), "no endpoint /v1/completions, or no model 'tiny'"),
        ((500, b"<html>"), r"it fails \(500\)"),
        ((302, b""), "it redirects to None"),
        ((200, b"<html>"), "the answer is no JSON object"),
        ((200, {"choices": []}), "the answer has no completion"),
        ((200, {"choices": [{"text": None}]}), "the answer has no completion"),
    ],
)
def test_every_fault_is_one_line_with_the_address(answer: tuple[int, Any], told: str) -> None:
    with serving(lambda body: answer) as served, pytest.raises(NightjarError, match=told) as raised:
        ask(served.url)
    assert str(raised.value).startswith(f"server:{served.url}: ")
    assert "\n" not in str(raised.value)


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(NightjarError, match="cannot be reached"):
            ask(f"http://127.0.0.1:{taken.getsockname()[1]}")


HALF = b'{"choices": [{"text": "\\ud800"}]}'
DEEP = b'{"choices": ' + b"[" * 200_000


def counted(name: str, value: str) -> bytes:
    return f'{{"choices": [{{"text": "x"}}], "usage": {{"{name}": {value}}}}}'.encode()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (HALF, "not valid Unicode"),
        (DEEP, "no JSON object"),
        (counted("completion_tokens", "1" + "0" * 30), "is too large"),
        (counted("completion_tokens", "8589934592"), "completion_tokens of the answer is not a count"),
        (counted("prompt_tokens", "true"), "prompt_tokens of the answer is not a count of tokens: true"),
        (counted("prompt_tokens", "-1"), "not a count of tokens: -1"),
        (counted("prompt_tokens", "1.0"), "not a count of tokens: 1.0"),
        (counted("prompt_tokens", '"1"'), "not a count of tokens: str"),
        (b'{"choices": [{"text": "x"}], "usage": [1]}', "usage of the answer is not an object"),
        (b'{"choices": [{"text": "x"}], "choices": []}', "occurs twice"),
    ],
)
def test_an_answer_that_cannot_be_recorded_is_one_line(answer: bytes, told: str) -> None:
    with serving(lambda body: (200, answer)) as served, pytest.raises(NightjarError, match=told) as raised:
        ask(served.url)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 500


def test_counts_that_are_missing_are_unknown() -> None:
    for body in (b'{"choices": [{"text": "x"}], "usage": null}', counted("prompt_tokens", "null")):
        with serving(lambda asked, said=body: (200, said)) as served:
            assert ask(served.url) == Text("x", False, None, None)


@pytest.mark.parametrize(
    ("models", "told"),
    [(("a", "b"), "several models: a, b; give server:http://.*#MODEL"), ((), "no model"), ({}, "no model")],
)
def test_the_model_is_the_only_one_or_is_named(models: Any, told: str) -> None:
    with serving(lambda body: completion(body["model"]), models) as served:
        with pytest.raises(NightjarError, match=told):
            ask(served.url)
        assert ask(f"{served.url}#b").text == "b"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("server:", "not the address of a server"),
        ("server:localhost:8000", "not the address of a server"),
        ("server:ftp://host", "not the address of a server"),
        ("server:http://host?key=1", "not the address of a server"),
        ("server:http://host:port", "not an address"),
        ("server:http://host:99999", "the port is out of range, 1 to 65535"),
        ("server:http://host:0", "the port is out of range, 1 to 65535"),
        ("server:http://me:word@host:port", "not an address"),
        ("server:http://me:pass/word@host", "not an address"),
        ("server:http://host/?key=word@", "not the address of a server"),
        (f"server:http://{'a' * 64}.example", "the host name is invalid"),
        ("server:http://a..b", "the host name is invalid"),
        ("server:http://a b", "the host name is invalid"),
        ("server:http://[::1", "not an address"),
        ("server:http://host#half\udcff", "not valid Unicode"),
        ("server:http://host\udcff", "not a"),
        ("server:http://me:word@host", "the address has a password; set it as NIGHTJAR_SERVER_KEY"),
    ],
)
def test_wrong_addresses(source: str, told: str) -> None:
    with pytest.raises(NightjarError, match=told) as raised:
        Address.parse(source)
    assert "word@" not in str(raised.value)


def test_addresses() -> None:
    assert Address.parse("server:http://h:1/v1/completions") == Address("http://h:1", None)
    assert Address.parse("server:https://h/llm/v1/#org/m") == Address("https://h/llm", "org/m")
    assert Address.parse("server:http://h:1/?") == Address("http://h:1", None)
    assert Address.parse("server:http://[::1]:9") == Address("http://[::1]:9", None)
    assert Address.parse("server:http://bücher.example") == Address("http://xn--bcher-kva.example", None)


def echoed(body: dict[str, Any]) -> tuple[int, Any]:
    """As llama.cpp's server: a token a character, ln p of the n-th is -n, and one more that it wrote."""
    before, text = (body["prompt"], f"{body['prompt']}!") if body.get("echo") else ("", "!")
    first = 0 if before else len(body["prompt"])
    logprobs = {
        "tokens": list(text),
        "text_offset": [first + n for n in range(len(text))],
        "token_logprobs": [-float(first + n) if first + n else None for n in range(len(text))],
    }
    return 200, {"choices": [{"text": text, "logprobs": logprobs if "logprobs" in body else None}]}


def prompt_logprobs(body: dict[str, Any]) -> tuple[int, Any]:
    """As vLLM without echo: the same probabilities in its own form."""
    if "echo" in body:
        return 400, {"error": {"message": "echo is not supported"}}
    tokens = [
        None,
        *({"7": {"logprob": -float(n), "decoded_token": one}} for n, one in enumerate(body["prompt"]) if n),
    ]
    _, given = echoed(body)
    return 200, {"choices": [given["choices"][0] | {"prompt_logprobs": tokens}]}


def shifted(body: dict[str, Any]) -> tuple[int, Any]:
    """As llama-cpp-python with a model without a token for the beginning: each token has the place of the next."""
    status, given = echoed(body)
    if body.get("echo"):
        logprobs = given["choices"][0]["logprobs"]
        logprobs["token_logprobs"] = [None, *(one - 2 for one in logprobs["token_logprobs"][1:])]
    return status, given


@pytest.mark.parametrize("script", [echoed, prompt_logprobs])
def test_the_likelihood_of_a_text_is_that_of_its_tokens_after_the_prompt(script: Any) -> None:
    with serving(script) as served:
        assert "score" in Server.abilities(served.url)
        with Server(served.url) as server:
            found = dict(server.score({0: ("ab", ["cd", "c"]), 1: ("", ["abc"])}, [0, 1]))
    # ab, then c at 2 and d at 3; of a text after nothing the first token has no probability.
    assert found == {0: [Score(-5.0, 2), Score(-2.0, 1)], 1: [Score(-3.0, 2)]}


def test_a_token_with_characters_of_prompt_and_text_belongs_to_the_text() -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        logprobs = {
            "tokens": ["a", "bc", "!"],
            "text_offset": [0, 1, 3],
            "token_logprobs": [None, -2.0, -9.0],
        }
        return 200, {"choices": [{"text": "abc!", "logprobs": logprobs}]}

    with serving(script) as served, Server(served.url) as server:
        assert dict(server.score({0: ("ab", ["c"])}, [0])) == {0: [Score(-2.0, 1)]}


@pytest.mark.parametrize(
    "answer",
    [
        completion("!"),
        (200, {"choices": [{"text": "!", "logprobs": {"tokens": ["!"], "token_logprobs": [-1.0]}}]}),
        (
            200,
            {"choices": [{"text": "!", "logprobs": {"text_offset": [0, 1], "token_logprobs": [None, "x"]}}]},
        ),
        (200, {"choices": []}),
        (400, {"error": {"message": "logprobs are switched off"}}),
    ],
)
def test_a_server_without_log_probabilities_is_known_by_one_request(answer: tuple[int, Any]) -> None:
    with serving(lambda body: answer) as served:
        assert Server.abilities(served.url) == Server.can
        assert len(served.asked) <= 4


def test_a_server_that_fails_where_it_should_refuse_has_no_log_probabilities() -> None:
    """As llama-cpp-python with --logits_all false."""
    answer = 500, {"error": {"message": "logprobs is not supported for models created with logits_all=False"}}
    told = pytest.raises(Unscored, match="it gives no log-probabilities of a given text")
    with serving(lambda body: answer) as served, Server(served.url, Limits(attempts=1)) as server, told:
        server.check_scores()


def test_log_probabilities_of_other_tokens_are_not_used() -> None:
    with serving(shifted) as served:
        assert Server.abilities(served.url) == Server.can
