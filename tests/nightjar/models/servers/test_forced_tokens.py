"""Log-probabilities by forced tokens, from a server written here that answers as llama.cpp's own."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.models.interface import Score
from nightjar.models.servers.completion_server import CompletionServer, Unscored
from nightjar.models.servers.http_client import RequestLimits
from tests.completions_server import PATHS, Served, serving

# A token is a byte, besides these; its id is 256 for the first of them.
WORDS = (b"bc", b"\n\n", b" a")
BEGINNING = 300


def bytes_of(token: int) -> bytes:
    return b"" if token == BEGINNING else bytes([token]) if token < 256 else WORDS[token - 256]


def ids_of(text: str) -> list[int]:
    """The longest tokens from the left."""
    data, ids = text.encode(), list[int]()
    while data:
        word = next((word for word in WORDS if data.startswith(word)), data[:1])
        ids.append(256 + WORDS.index(word) if word in WORDS else word[0])
        data = data[len(word) :]
    return ids


def logprobs_after(ids: list[int]) -> dict[int, float]:
    """The log-probabilities of all tokens: they depend on the last two and their number."""
    seed = sum((place + 1) * token for place, token in enumerate(ids[-2:])) + len(ids)
    logits = {token: ((token * 37 + seed) % 101) / 7 for token in range(256 + len(WORDS))}
    total = math.log(math.fsum(map(math.exp, logits.values())))
    return {token: logit - total for token, logit in logits.items()}


def shown(piece: bytes) -> str | list[int]:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)


class LlamaCpp:
    """A script that answers as llama.cpp's own server; `prefix` are the ids that it puts before a text.

    Its tokenizer may put a `blank` before a text, too.
    """

    blank = ""

    def __init__(self, *prefix: int) -> None:
        self.prefix = list(prefix)

    def tokens(self, body: dict[str, Any]) -> Any:
        ids = [*(self.prefix if body["add_special"] else []), *ids_of(self.blank + body["content"])]
        return {"tokens": [{"id": token, "piece": shown(bytes_of(token))} for token in ids]}

    def value(self, logprob: float, bias: float) -> float:
        return logprob

    def __call__(self, body: dict[str, Any]) -> tuple[int, Any]:
        if "content" in body:
            return 200, self.tokens(body)
        prompt = body["prompt"]
        ids = prompt if isinstance(prompt, list) else [*self.prefix, *ids_of(self.blank + prompt)]
        logprobs = logprobs_after(ids)
        bias = {int(token): value for token, value in body.get("logit_bias", {}).items()}
        written = max(logprobs, key=lambda token: logprobs[token] + bias.get(token, 0))
        ranked = sorted(logprobs, key=lambda token: -logprobs[token])[: body.get("logprobs", 0)]
        entry = self.entry(written, self.value(logprobs[written], bias.get(written, 0)))
        content = [entry | {"top_logprobs": [self.entry(token, logprobs[token]) for token in ranked]}]
        # A part of a character has no entry of its own.
        whole = "logprobs" in body and isinstance(shown(bytes_of(written)), str)
        choice = {
            "text": bytes_of(written).decode(errors="replace"),
            "logprobs": {"content": content} if whole else None,
        }
        return 200, {"choices": [choice], "usage": {"prompt_tokens": len(ids)}}

    @staticmethod
    def entry(token: int, logprob: float) -> dict[str, Any]:
        return {"id": token, "token": bytes_of(token).decode(errors="replace"), "logprob": logprob}


def expected(server: LlamaCpp, prompt: str, text: str) -> Score:
    """The log-probability by the whole table."""
    ids, values, end = ids_of(server.blank + prompt + text), list[float](), -len(server.blank)
    for place, token in enumerate(ids):
        end += len(bytes_of(token))
        if end > len(prompt.encode()) and (place or prompt):
            values.append(logprobs_after([*server.prefix, *ids[:place]])[token])
    return Score(math.fsum(values), len(values))


def llama_cpp(script: Callable[[dict[str, Any]], tuple[int, Any]]) -> Any:
    return serving(script, paths=(*PATHS, "/tokenize"))


def scores(served: Served, prompt: str, texts: list[str]) -> list[Score]:
    with CompletionServer(served.url) as server:
        return dict(server.score({0: (prompt, texts)}, [0]))[0]


@pytest.mark.parametrize("prefix", [(), (BEGINNING,)])
@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("ab", "x"),
        ("ab", "x yz"),
        ("ab", "c"),  # a token with characters of both
        ("a\n", "\n"),
        ("Q:", " é\n\n"),  # parts of a character
        ("", "abcd"),
    ],
)
def test_the_likelihood_of_a_text_is_that_of_the_whole_vocabulary(
    prefix: tuple[int, ...], prompt: str, text: str
) -> None:
    script = LlamaCpp(*prefix)
    with llama_cpp(script) as served:
        assert "score" in CompletionServer.abilities(served.url)
        (score,) = scores(served, prompt, [text])
    wanted = expected(script, prompt, text)
    assert score.tokens == wanted.tokens and score.logprob == pytest.approx(wanted.logprob, abs=1e-9)


class SentencePiece(LlamaCpp):
    blank = " "


@pytest.mark.parametrize(
    ("prompt", "text", "tokens"), [("ab", "x", 1), ("ab", "c a", 2), ("", "abcd", 2), ("", "xyz", 3)]
)
def test_a_blank_before_a_text_is_no_character_of_it(prompt: str, text: str, tokens: int) -> None:
    script = SentencePiece(BEGINNING)
    with llama_cpp(script) as served:
        assert "score" in CompletionServer.abilities(served.url)
        (score,) = scores(served, prompt, [text])
    assert score.tokens == tokens == expected(script, prompt, text).tokens
    assert score.logprob == pytest.approx(expected(script, prompt, text).logprob, abs=1e-9)


def test_a_token_is_a_request_and_what_comes_before_the_choice_has_none() -> None:
    with llama_cpp(LlamaCpp()) as served, CompletionServer(served.url) as server:
        server.pieces("any")
        served.asked.clear()
        list(server.score({0: ("a long prompt", ["xy", "z"])}, [0]))
    assert [len(body.get("prompt", ())) for body in served.asked] == [0, 13, 14, 0, 13]
    forced = [body for body in served.asked if "prompt" in body]
    assert all(body["max_tokens"] == 1 and body["cache_prompt"] for body in forced)
    assert [body["logit_bias"] for body in forced] == [{"120": 1000}, {"121": 1000}, {"122": 1000}]


class Biased(LlamaCpp):
    """A server whose log-probabilities have the bias in them."""

    def value(self, logprob: float, bias: float) -> float:
        return 0.0 if bias else logprob


class Unforced(LlamaCpp):
    """A server that ignores the bias."""

    def __call__(self, body: dict[str, Any]) -> tuple[int, Any]:
        return super().__call__({name: value for name, value in body.items() if name != "logit_bias"})


class Ending(LlamaCpp):
    """A server that puts a token behind a text, too."""

    def tokens(self, body: dict[str, Any]) -> Any:
        answer = super().tokens(body)
        return {"tokens": [*answer["tokens"], *([{"id": 3, "piece": "."}] if body["add_special"] else [])]}


class Lossy(LlamaCpp):
    """A server whose tokens are of the text in lower case."""

    def tokens(self, body: dict[str, Any]) -> Any:
        return super().tokens(body | {"content": body["content"].lower()})


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (Biased(), "a token that is forced has another value"),
        (Unforced(), "a token that is forced has another value"),
        (Ending(), "it puts tokens behind a text"),
        (Lossy(), "its tokens are not those of the text"),
    ],
)
def test_a_server_whose_forced_tokens_have_other_values_scores_nothing(
    script: LlamaCpp, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    with llama_cpp(script) as served:
        assert CompletionServer.abilities(served.url) == CompletionServer.can
        assert f"it gives no log-probabilities of a given text: {told}" in caplog.text
        assert len(served.asked) <= 8


@pytest.mark.parametrize(
    "tokens",
    [
        None,
        [],
        [97],
        [{"id": -1, "piece": "ab"}],
        [{"id": True, "piece": "ab"}],
        [{"id": 2**31, "piece": "ab"}],
        [{"id": 97, "piece": 3}],
        [{"id": 97, "piece": [256]}],
        [{"id": 97, "piece": ""}, {"id": 98, "piece": "ab"}],
        [{"id": 97, "piece": "ab"}, {"id": 98}],
    ],
)
def test_odd_tokens_of_a_text_are_refused(tokens: Any) -> None:
    class Odd(LlamaCpp):
        def tokens(self, body: dict[str, Any]) -> Any:
            return {"tokens": tokens} if body["content"] == "ab" else super().tokens(body)

    with llama_cpp(Odd()) as served, pytest.raises(Unscored, match="it gives no log-probabilities"):
        scores(served, "a", ["b"])


@pytest.mark.parametrize(
    "change",
    [
        {"logprob": 0.5},
        {"logprob": None},
        {"logprob": "-1"},
        {"id": 97},
    ],
)
def test_odd_values_of_a_token_are_refused(change: dict[str, Any]) -> None:
    class Odd(LlamaCpp):
        def __call__(self, body: dict[str, Any]) -> tuple[int, Any]:
            status, answer = super().__call__(body)
            if body.get("prompt") == [97]:
                answer["choices"][0]["logprobs"]["content"][0] |= change | {"top_logprobs": [3, {}]}
            return status, answer

    with llama_cpp(Odd()) as served, pytest.raises(NightjarError, match="has no probability"):
        scores(served, "a", ["b"])


def test_a_prompt_of_another_number_of_tokens_is_refused() -> None:
    class Longer(LlamaCpp):
        def __call__(self, body: dict[str, Any]) -> tuple[int, Any]:
            status, answer = super().__call__(body)
            if body.get("prompt") == [97]:
                answer["usage"]["prompt_tokens"] = 2
            return status, answer

    with llama_cpp(Longer()) as served, pytest.raises(NightjarError, match="has no probability"):
        scores(served, "a", ["b"])


class Faulty(LlamaCpp):
    """A server whose /tokenize, or whose forced tokens, get another answer."""

    def __init__(self, status: int, text: str, forced: bool) -> None:
        super().__init__()
        self.answer, self.forced = (status, {"error": text}), forced

    def __call__(self, body: dict[str, Any]) -> tuple[int, Any]:
        faulty = isinstance(body.get("prompt"), list) if self.forced else "content" in body
        return self.answer if faulty else super().__call__(body)


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, ""),
        (405, ""),
        (501, ""),
        (400, ""),
        (422, ""),
        (503, "it fails (503: loading)"),
        (500, "it fails (500: loading)"),
        (401, "it refuses the key (401)"),
        (302, "it redirects"),
        (200, "its tokens are not those of the text|it lists no likeliest tokens"),
    ],
)
def test_a_fault_of_the_check_is_named_unless_the_server_has_no_such_requests(
    status: int, reason: str, forced: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with llama_cpp(Faulty(status, "loading", forced)) as served:
        assert CompletionServer.abilities(served.url) == CompletionServer.can
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == bool(reason)
    assert all(any(one in line for one in reason.split("|")) for line in lines)


@pytest.mark.parametrize("forced", [False, True])
def test_a_check_without_an_answer_is_that_fault(forced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(Faulty):
        def __call__(self, body: dict[str, Any]) -> tuple[int, Any]:
            answer = super().__call__(body)
            if answer is self.answer:
                released.wait(30)
            return answer

    released = threading.Event()
    monkeypatch.setattr(CompletionServer.__init__, "__defaults__", (RequestLimits(answer=0.5, retries=0),))
    with llama_cpp(Hanging(200, "", forced)) as served:
        try:
            with pytest.raises(NightjarError, match="no answer in time"):
                CompletionServer.abilities(served.url)
        finally:
            released.set()
