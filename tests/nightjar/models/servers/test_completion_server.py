"""The client of completion servers against a server written here."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion
from nightjar.models.engine.loading import load
from nightjar.models.engine.log_probabilities import text_loss
from nightjar.models.interface import Score
from nightjar.models.servers.completion_server import CompletionServer, Unscored
from nightjar.models.servers.http_client import RequestLimits
from nightjar.models.servers.prompt_logprobs import ScoredToken
from nightjar.models.servers.server_address import Address
from tests.completions_server import completion, serving, talking


def test_a_request_is_greedy_and_has_the_exact_prompt() -> None:
    answer = completion(" yes", "length", completion_tokens=1, prompt_tokens=2)
    with serving(lambda body: answer) as served, CompletionServer(f"{served.url}/v1/") as server:
        assert server.complete("A prompt", 5, ("\n\n",)) == Completion(" yes", True, 1, 2)
    penalties = {"repeat_penalty": 1.0, "repetition_penalty": 1.0}
    wanted = {"model": "tiny", "prompt": "A prompt", "max_tokens": 5, "temperature": 0, "stop": ["\n\n"]}
    assert served.asked == [wanted | penalties]


PENALTIES = ("repeat_penalty", "repetition_penalty")


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("refused", [PENALTIES, PENALTIES[:1], PENALTIES[1:]])
def test_a_name_that_a_server_refuses_is_left_out_alone(
    refused: tuple[str, ...], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        for name in refused:
            if name in body:
                return status, {"error": {"message": f"Unrecognized request argument: {name}"}}
        return completion("yes")

    with serving(script) as served, CompletionServer(Address.parse(f"server:{served.url}")) as server:
        assert [server.complete("a", 1, ()).text, server.complete("b", 1, ()).text] == ["yes", "yes"]
        assert server.facts()["server"]["without_penalty"] == (refused != PENALTIES)
    lines = [f"server:{served.url} refuses {name}: it is left out from now on" for name in refused]
    assert [one.message for one in caplog.records] == lines
    for body in served.asked[len(refused) :]:
        assert [name for name in PENALTIES if name in body] == [it for it in PENALTIES if it not in refused]
    assert len(served.asked) == len(refused) + 2


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
        assert "score" in CompletionServer.abilities(served.url)
        # Several may be others when their text is sent back, such as two line ends.
        assert {body["max_tokens"] for body in served.asked} == {1}
        with CompletionServer(served.url) as server:
            found = dict(server.score({0: ("ab", ["cd", "c"]), 1: ("", ["abc"])}, [0, 1]))
    # ab, then c at 2 and d at 3; of a text after nothing the first token has no probability.
    assert found == {0: [Score(-5.0, 2), Score(-2.0, 1)], 1: [Score(-3.0, 2)]}


def test_a_token_with_characters_of_prompt_and_text_belongs_to_the_text() -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if body["prompt"] != "abc":
            return echoed(body)
        logprobs = {
            "tokens": ["a", "bc", "!"],
            "text_offset": [0, 1, 3],
            "token_logprobs": [None, -2.0, -9.0],
        }
        return 200, {"choices": [{"text": "abc!", "logprobs": logprobs}]}

    with serving(script) as served, CompletionServer(served.url) as server:
        assert dict(server.score({0: ("ab", ["c"])}, [0])) == {0: [Score(-2.0, 1)]}


PROBE = "The capital of France is"


def without(usage: Any = None, **lists: list[Any]) -> tuple[int, Any]:
    """The answer of `echoed` to the probe with other lists of `logprobs`, or with a usage."""
    status, given = echoed({"prompt": PROBE, "echo": True, "logprobs": 1})
    given["choices"][0]["logprobs"] |= lists
    return status, {**given, "usage": usage}


@pytest.mark.parametrize(("more", "scores"), [(0, True), (1, True), (2, False), (-1, False)])
def test_the_tokens_are_those_that_the_server_counts_but_the_first(more: int, scores: bool) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        status, given = echoed(body)
        return status, {**given, "usage": {"prompt_tokens": len(body["prompt"]) + more}}

    with serving(script) as served:
        assert ("score" in CompletionServer.abilities(served.url)) == scores


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
        # A sequence of one character a token, where each answer has one fault.
        without(usage={"prompt_tokens": 5}),
        without(token_logprobs=[-1.0] * 25),
        without(token_logprobs=[None, 0.1, *[-1.0] * 23]),
        without(tokens=list("A capital of France is it")),
        without(text_offset=[0, 0, *range(2, 25)]),
        without(tokens=[PROBE], token_logprobs=[None], text_offset=[0]),
    ],
)
def test_a_server_without_log_probabilities_is_known_by_few_requests(answer: tuple[int, Any]) -> None:
    with serving(lambda body: answer) as served:
        assert CompletionServer.abilities(served.url) == CompletionServer.can
        assert len(served.asked) <= 4


def test_log_probabilities_of_generated_text_alone_are_not_used() -> None:
    """As a server that ignores `echo`: its only token has the same value when it is asked again."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        logprobs = {"tokens": [" Paris"], "text_offset": [0], "token_logprobs": [-0.25]}
        usage = {"prompt_tokens": 5, "completion_tokens": 1}
        return 200, {"choices": [{"text": " Paris", "logprobs": logprobs}], "usage": usage}

    with serving(script) as served:
        assert CompletionServer.abilities(served.url) == CompletionServer.can


class Impatient(CompletionServer):
    """A client that asks once."""

    def __init__(self, address: Address | str) -> None:
        super().__init__(address, RequestLimits(retries=0))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        # As llama-cpp-python with --logits_all false.
        (
            (500, {"error": {"message": "logprobs is not supported: logits_all=False"}}),
            "it fails (500: logprobs",
        ),
        ((503, {"error": "out of memory"}), "it fails (503: out of memory)"),
        ((400, {"error": "no"}), "it refuses the request (400: no)"),
        ((200, b'{"choices": [{"logprobs": NaN}]}'), "the answer is no JSON object"),
    ],
)
def test_a_server_that_fails_on_log_probabilities_alone_writes_texts(
    answer: tuple[int, Any], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        return answer if body.keys() & {"echo", "prompt_logprobs"} else completion("yes")

    with serving(script) as served:
        assert Impatient.abilities(served.url) == CompletionServer.can
        assert f"it gives no log-probabilities of a given text: {told}" in caplog.text
        with Impatient(served.url) as server:
            assert server.complete("a", 1, ()).text == "yes"
            with pytest.raises(Unscored, match="it gives no log-probabilities"):
                server.pieces("a")


def test_a_server_that_fails_on_everything_is_that_fault() -> None:
    told = pytest.raises(NightjarError, match=r"it fails \(500\)")
    with serving(lambda body: (500, b"")) as served, told:
        Impatient.abilities(served.url)


def test_a_character_may_be_several_tokens() -> None:
    """As tokenizers of bytes: no text shows a part of a character."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if body["prompt"] != "aéb":
            return echoed(body)
        logprobs = {
            "tokens": ["a", "", "é", "b", "!"],
            "text_offset": [0, 1, 1, 2, 3],
            "token_logprobs": [None, -1.0, -2.0, -4.0, -9.0],
        }
        return 200, {"choices": [{"text": "aéb!", "logprobs": logprobs}]}

    with serving(script) as served, CompletionServer(served.url) as server:
        assert dict(server.score({0: ("a", ["éb"])}, [0])) == {0: [Score(-7.0, 3)]}


def test_places_that_are_not_those_of_the_characters_are_not_used() -> None:
    """As a server that counts bytes, or a sign for each part of a character."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if not body["prompt"].startswith("a"):
            return echoed(body)
        logprobs = {
            "tokens": list("aéb!"),
            "text_offset": [0, 1, 3, 4],
            "token_logprobs": [None, -2.0, -3.0, -9.0],
        }
        return 200, {"choices": [{"text": "aéb!", "logprobs": logprobs}]}

    told = pytest.raises(Unscored, match="it gives no log-probabilities of a given text")
    with serving(script) as served, CompletionServer(served.url) as server, told:
        server.pieces("aéb")


def test_log_probabilities_of_other_tokens_are_not_used(caplog: pytest.LogCaptureFixture) -> None:
    with serving(shifted) as served:
        assert CompletionServer.abilities(served.url) == CompletionServer.can
    assert "its log-probabilities of a given text are those of other tokens" in caplog.text


def test_a_text_has_the_same_tokens_and_likelihood_as_from_the_weights(tiny_model: Path) -> None:
    lm = load(tiny_model)
    text = "Today is a text of several tokens, the first of which follows nothing."

    def served_by_weights(body: dict[str, Any]) -> tuple[int, Any]:
        ids, places = lm.tokenizer.encode_with_offsets(body["prompt"])
        with torch.inference_mode():
            table = lm.model(torch.tensor([ids])).logits[0].float().log_softmax(-1)
        logprobs = {
            "tokens": [body["prompt"][start:end] for start, end in places],
            "text_offset": [start for start, _ in places],
            "token_logprobs": [None, *(float(table[n - 1, ids[n]]) for n in range(1, len(ids)))],
        }
        return 200, {"choices": [{"text": body["prompt"], "logprobs": logprobs}]}

    ids = lm.tokenizer.continuation(text)
    with serving(served_by_weights) as served, CompletionServer(served.url) as server:
        ((_, (score,)),) = server.score({0: ("", [text])}, [0])
    assert score.tokens == len(ids) - 1
    assert score.logprob == pytest.approx(-text_loss(lm, ids, 500), rel=1e-5)


BRIEF = RequestLimits(connect=1.0, answer=0.4, retries=0)


def test_a_server_that_hangs_costs_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where several threads wait for the first that asks for log-probabilities."""

    def script(body: dict[str, Any]) -> tuple[int, Any]:
        released.wait(30)
        return completion("yes")

    released = threading.Event()
    with serving(script) as served:
        try:
            told = pytest.raises(NightjarError, match="no answer in time")
            with CompletionServer(f"{served.url}#m", BRIEF) as server, told:
                list(server.score({number: ("a", ["b"]) for number in range(4)}, range(4)))
            assert len(served.asked) == 1
            monkeypatch.setattr(CompletionServer.__init__, "__defaults__", (BRIEF,))
            with pytest.raises(NightjarError, match="no answer in time"):
                CompletionServer.abilities(f"{served.url}#m")
            assert len(served.asked) == 2
        finally:
            released.set()


def test_a_server_that_hangs_on_the_last_check_is_that_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(body: dict[str, Any]) -> tuple[int, Any]:
        if "echo" not in body:
            released.wait(30)
        return echoed(body)

    released = threading.Event()
    monkeypatch.setattr(CompletionServer.__init__, "__defaults__", (BRIEF,))
    with serving(script) as served:
        try:
            with pytest.raises(NightjarError, match="no answer in time"):
                CompletionServer.abilities(served.url)
        finally:
            released.set()


def test_a_refused_key_is_asked_once() -> None:
    told = pytest.raises(NightjarError, match=r"it refuses the key \(401\)")
    with serving(lambda body: (401, {})) as served, told:
        CompletionServer.abilities(served.url)
    assert len(served.asked) == 1


def test_a_server_that_is_not_there_is_asked_once() -> None:
    connections: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        connections.append(b"")  # and closed without an answer

    with talking(talk) as url, CompletionServer(f"{url}#m", BRIEF) as server:
        for _ in range(2):
            with pytest.raises(NightjarError, match="cannot be reached"):
                server.pieces("a")
    assert len(connections) == 1


def test_four_threads_find_out_once_how_log_probabilities_are_asked_for() -> None:
    together = threading.Barrier(4)

    class Together(CompletionServer):
        def pieces(self, text: str, start: int = 0) -> list[ScoredToken]:
            together.wait(30)
            return super().pieces(text, start)

    with serving(echoed) as served, Together(served.url) as server:
        scores = dict(server.score({number: ("ab", ["c"]) for number in range(4)}, range(4)))
    assert list(scores.values()) == [[Score(-2.0, 1)]] * 4
    assert len(served.asked) == 1 + 4
