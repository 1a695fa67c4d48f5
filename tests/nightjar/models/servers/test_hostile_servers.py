"""Damaged, busy and hostile servers, by both interfaces. What a connection may do is in test_http_client."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion
from nightjar.models.servers.http_client import KEY, RequestLimits
from tests.completions_server import serving, talking
from tests.nightjar.models.conftest import Interface


def test_the_key_is_a_header_and_in_no_message(interface: Interface, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "secret-1")
    refusal = 400, {"error": "the key secret-1 is wrong"}
    with serving(lambda body: refusal) as served, pytest.raises(NightjarError) as raised:
        interface.ask(served.url)
    assert "secret-1" not in str(raised.value)
    assert served.headers[0]["Authorization"] == "Bearer secret-1" and "secret-1" not in str(served.asked)
    monkeypatch.setenv(KEY, "two\nlines")
    with pytest.raises(NightjarError, match="no header can have") as raised:
        interface.ask(served.url)
    assert "two" not in str(raised.value)


def test_a_fault_that_passes_is_retried(interface: Interface) -> None:
    for fault in ((503, b"busy"), (429, {}), (500, b"<html>")):
        answers = [fault, interface.said("yes")]
        with serving(lambda body, answers=answers: answers.pop(0)) as served:
            assert interface.ask(served.url).text == "yes"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            (400, {"error": {"message": "prompt too\nlong"}}),
            r"it refuses the request \(400: prompt too long\)",
        ),
        ((401, {"error": "who?"}), r"it refuses the key \(401\); set NIGHTJAR_SERVER_KEY"),
        ((404, {}), "no endpoint /v1/.*completions, or no model 'tiny'"),
        ((500, b"<html>"), r"it fails \(500\)"),
        ((429, b""), r"it refuses the request \(429\)"),
        ((403, {"error": "flagged"}), r"it refuses the request or the key \(403: flagged\)"),
        ((403, b""), r"it refuses the request or the key \(403\)"),
        ((200, {"error": {"message": "flagged", "code": 403}}), r"the request or the key \(403: flagged\)"),
        ((302, b""), "it redirects without an address"),
        ((200, b"<html>"), "the answer is no JSON object"),
        ((200, {"choices": []}), "the answer has no completion"),
        ((200, {"error": {"message": "no memory"}}), r"the answer has no completion \(error: no memory\)"),
        ((200, {"choices": [{"text": 3, "message": {"content": 3}}]}), "has no completion|is not a text"),
    ],
)
def test_every_fault_is_one_line_with_the_address(
    interface: Interface, answer: tuple[int, Any], told: str
) -> None:
    with serving(lambda body: answer) as served, pytest.raises(NightjarError, match=told) as raised:
        interface.ask(served.url)
    assert str(raised.value).startswith(f"{interface.kind}:{served.url}: ")


@pytest.mark.parametrize(
    ("reason", "more", "failure"),
    [
        ("error", {}, "error"),
        ("abort", {}, "abort"),
        ("content_filter", {}, "content_filter"),
        ("stop", {"error": {"message": "no\nmemory"}}, "error: no memory"),
        ("error", {"error": {"code": 7}}, 'error: {"code": 7}'),
        ("length", {"error": "half"}, "error: half"),
        ("stop", {"error": None}, ""),
        (["error"], {}, ""),
    ],
)
def test_an_error_in_the_place_of_an_answer_is_no_answer(
    interface: Interface, reason: Any, more: dict[str, Any], failure: str
) -> None:
    with serving(lambda body: interface.failed("half a te", reason, **more)) as served:
        text = interface.ask(served.url)
    assert (text.text, text.failure) == ("" if failure else "half a te", failure)


@pytest.mark.parametrize("code", [503, "429"])
def test_an_error_whose_code_is_a_status_is_retried(interface: Interface, code: Any) -> None:
    """As gateways, which begin an answer with the status 200 before the model has failed."""
    error = 200, {"choices": [], "error": {"message": "busy", "code": code}}
    answers = [error, interface.said("yes"), error, error]
    with serving(lambda body: answers.pop(0)) as served:
        assert interface.ask(served.url).text == "yes"
        with pytest.raises(NightjarError, match=rf"it (fails|refuses the request) \({code}: busy\)"):
            interface.ask(f"{served.url}#tiny")
    assert len(served.asked) == 4


@pytest.mark.parametrize(
    ("status", "asked_again", "requests"),
    [(400, "true", 1), (501, "true", 1), (501, None, 1), (503, "false", 2), (409, None, 2), (408, None, 2)],
)
def test_the_status_alone_decides_what_is_retried(
    interface: Interface, status: int, asked_again: str | None, requests: int
) -> None:
    connections: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        connections.append(b"")
        header = f"x-should-retry: {asked_again}\r\n" if asked_again else ""
        head = f"HTTP/1.1 {status} No\r\n{header}Retry-After: 0.001\r\nConnection: close\r\n"
        connection.sendall(f"{head}Content-Length: 2\r\n\r\n{{}}".encode())

    with talking(talk) as url, pytest.raises(NightjarError):
        interface.ask(f"{url}#m")
    assert len(connections) == requests


@pytest.mark.parametrize(("code", "what"), [(400, "it refuses the request"), (501, "no endpoint .*")])
def test_an_error_whose_code_refuses_the_request_is_not_retried(
    interface: Interface, code: int, what: str
) -> None:
    answer = 200, {"error": {"message": "prompt too long", "code": code}}
    told = pytest.raises(NightjarError, match=rf"{what} \({code}: prompt too long\)")
    with serving(lambda body: answer) as served, told:
        interface.ask(served.url)
    assert len(served.asked) == 1


def test_a_busy_server_is_asked_for_the_same_again(
    interface: Interface, caplog: pytest.LogCaptureFixture
) -> None:
    """What a server says while it is busy, or fails, refuses no parameter."""
    busy = 503, {"error": "temperature, max_tokens, stop, repeat_penalty and logprobs: try again"}
    answers = [busy, busy, interface.said("yes")]
    with serving(lambda body: answers.pop(0)) as served:
        assert interface.ask(served.url, RequestLimits(retries=2)).text == "yes"
    assert len(served.asked) == 3 and all(body == served.asked[0] for body in served.asked)
    assert not caplog.text


def test_a_text_ends_before_the_stop_text_that_a_server_gives(interface: Interface) -> None:
    with serving(lambda body: interface.said("Paris\n\nQ: Which")) as served:
        assert interface.ask(served.url) == Completion("Paris", stop="\n\n")


def test_a_server_that_is_not_there(interface: Interface) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(NightjarError, match="cannot be reached"):
            interface.ask(f"http://127.0.0.1:{taken.getsockname()[1]}")


def counted(name: str, value: str) -> str:
    return f', "usage": {{"{name}": {value}}}'


DEEP = ', "more": ' + "[" * 200_000


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("\ud800", "", "not valid Unicode"),
        ("x", DEEP, "no JSON object"),
        ("x", counted("completion_tokens", "8589934592"), "completion_tokens of the answer is not a count"),
        ("x", counted("prompt_tokens", "true"), "prompt_tokens of the answer is not a count of tokens: true"),
        ("x", counted("prompt_tokens", "-1"), "not a count of tokens: -1"),
        ("x", ', "choices": []', "occurs twice"),
        *(
            ("x", f', "usage": {usage}', "usage of the answer is not an object")
            for usage in ("[]", '""', "0", "false", "[1]")
        ),
    ],
)
def test_an_answer_that_cannot_be_recorded_is_one_line(
    interface: Interface, text: str, more: str, told: str
) -> None:
    answer = 200, interface.body(text, more)
    patient = RequestLimits(size=2**20)
    with serving(lambda body: answer) as served, pytest.raises(NightjarError, match=told) as raised:
        interface.ask(served.url, patient)
    assert len(str(raised.value)) < 500


def test_counts_that_are_missing_are_unknown(interface: Interface) -> None:
    for more in (', "usage": null', counted("prompt_tokens", "null")):
        answer = 200, interface.body("x", more)
        with serving(lambda body, answer=answer: answer) as served:
            assert interface.ask(served.url) == Completion("x", False, None, None)


@pytest.mark.parametrize(
    ("models", "told"),
    [
        (("a", "b"), "several models: a, b; give .*:http://.*#MODEL"),
        ((), "no model"),
        ({}, "no model"),
        *(
            (names, "the name of a model is not printable, or longer than 200 characters; give")
            for names in (("a" * 201,), ("a\nb",), ("a\x1b[2J",), ("b" * 200, "c" * 201))
        ),
    ],
)
def test_the_model_is_the_only_one_or_is_named(interface: Interface, models: Any, told: str) -> None:
    with serving(lambda body: interface.said(body["model"]), models) as served:
        with pytest.raises(NightjarError, match=told):
            interface.ask(served.url)
        assert interface.ask(f"{served.url}#b").text == "b"
    with serving(lambda body: interface.said(body["model"]), ("a" * 199 + "é",)) as served:
        assert interface.ask(served.url).text == "a" * 199 + "é"


def test_a_server_that_does_not_list_its_models_needs_a_name(interface: Interface) -> None:
    """As hosted ones, whose addresses may have another version or be whole."""
    for version in ("/api/v4", "/api/v4" + interface.path.removeprefix("/v1"), "/odd"):
        with serving(lambda body: interface.said("yes")) as served:
            told = rf"no endpoint .*/models.*, or give {interface.kind}:{served.url}{version}#MODEL$"
            with pytest.raises(NightjarError, match=told):
                interface.ask(f"{served.url}{version}")


@pytest.mark.parametrize("url", ["/api/v4", "/api/v4{path}", "/v2beta", "/deployments/m{path}", "/a/v1", ""])
def test_an_address_with_another_version_or_a_path_is_asked_as_it_is(interface: Interface, url: str) -> None:
    path = interface.path.removeprefix("/v1")
    given = url.format(path=path)
    base = given.removesuffix(path) or "/v1"
    with serving(lambda body: interface.said("yes"), paths=(f"{base}{path}", f"{base}/models")) as served:
        assert interface.ask(f"{served.url}{given}").text == "yes"
        assert interface.model_class.name(interface.kind, f"{served.url}{given}") == "tiny"
