"""A client of servers with the OpenAI interface for completions (llama.cpp, vLLM, TGI and others).

A request has the text of a prompt, the stop strings and the largest number of tokens; decoding is greedy. The key, if
the server wants one, is read from NIGHTJAR_SERVER_KEY, sent in a header and written nowhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import httpx

from nightjar.core.display import printable
from nightjar.core.errors import NightjarError, first_line

PREFIX, KEY = "server:", "NIGHTJAR_SERVER_KEY"
# Requests at once, attempts of a request, and the pause before the second attempt, which is doubled for each further.
AT_ONCE, ATTEMPTS, PAUSE = 4, 4, 1.0
# Seconds until a connection is made, and until an answer arrives.
CONNECT, ANSWER = 10.0, 600.0
# Of what a server answers to a wrong request, in characters.
_SHOWN = 200
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
# Greedy decoding without a penalty for repeated tokens, by the names that llama.cpp and vLLM give it: the default of
# llama-cpp-python is 1.1. A server that refuses unknown names gets neither.
NEUTRAL = {"repeat_penalty": 1.0, "repetition_penalty": 1.0}


@dataclass(frozen=True)
class Completion:
    """The text after a prompt, and whether the limit of tokens ended it. Tokens are those that the server counted."""

    text: str
    cut: bool
    tokens: int | None
    prompt_tokens: int | None


@dataclass(frozen=True)
class Address:
    """`url` is the part before /v1/completions. `model` is None for the only model of a server."""

    url: str
    model: str | None

    @classmethod
    def parse(cls, source: str) -> Address:
        """From `server:URL` or `server:URL#MODEL`. Raises NightjarError for anything else.

        An address must not have a password: it would be in files and logs.
        """
        fix = f"write {PREFIX}http://HOST:PORT, or {PREFIX}URL#MODEL for one of several models"
        try:
            url = httpx.URL(source.removeprefix(PREFIX))
        except httpx.InvalidURL as error:
            raise NightjarError(f"not an address ({first_line(error)})", source, fix) from None
        if url.userinfo:
            shown = f"{PREFIX}{url.scheme}://…@{url.host}"
            raise NightjarError("the address has a password", shown, f"set it as {KEY}")
        if url.scheme not in ("http", "https") or not url.host or url.query:
            raise NightjarError("not the address of a server", source, fix)
        base = str(url.copy_with(fragment=None)).rstrip("/").removesuffix("/completions").removesuffix("/v1")
        return cls(base.rstrip("/"), url.fragment or None)


class _Refused(NightjarError):
    """The server refuses a request for what is in it."""


class Server:
    """A connection to a server; use it as a context manager. Threads may share it.

    Raises NightjarError, with one line for each fault, from every method: the server cannot be reached, is too slow,
    refuses the request, has no such endpoint, or gives an answer that is not a completion.
    """

    def __init__(self, address: Address, attempts: int = ATTEMPTS, pause: float = PAUSE) -> None:
        self.address, self.attempts, self.pause = address, attempts, pause
        self._key = _key()
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx.Client(
            headers=headers, timeout=httpx.Timeout(ANSWER, connect=CONNECT), follow_redirects=False
        )
        self.model = address.model or ""
        self.neutral = True

    def __enter__(self) -> Self:
        if not self.address.model:
            self.model = self._only_model()
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def complete(self, prompt: str, max_tokens: int, stop: Sequence[str]) -> Completion:
        """The greedy continuation of a prompt, without the stop string that ended it."""
        body = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            "stop": list(stop) or None,
        }
        found = self._complete(body)
        try:
            choice = found["choices"][0]
            text = choice["text"]
        except (LookupError, TypeError):
            text = None
        if not isinstance(text, str):
            raise self._fault("the answer has no completion", "check that it has the OpenAI interface")
        used = found.get("usage")
        counts = used if isinstance(used, Mapping) else {}
        return Completion(
            text,
            choice.get("finish_reason") == "length",
            _count(counts.get("completion_tokens")),
            _count(counts.get("prompt_tokens")),
        )

    def _complete(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a request, without a penalty where the server can be asked for that (`neutral`)."""
        if self.neutral:
            try:
                return self._ask("POST", "/v1/completions", {**body, **NEUTRAL})
            except _Refused as error:
                if not any(name in error.what for name in NEUTRAL):
                    raise
                self.neutral = False
        return self._ask("POST", "/v1/completions", body)

    def _only_model(self) -> str:
        """The name of the only model."""
        found = self._ask("GET", "/v1/models", None)
        try:
            names = [str(one["id"]) for one in found["data"]]
        except (LookupError, TypeError):
            names = []
        fix = f"give {PREFIX}{self.address.url}#MODEL"
        if not names:
            raise self._fault("it names no model", fix)
        if len(names) > 1:
            raise self._fault(f"it has several models: {', '.join(names[:10])}", fix)
        return names[0]

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """The JSON object of an answer. Faults that may pass are retried."""
        for attempt in range(1, self.attempts + 1):
            last = attempt == self.attempts
            try:
                answer = self._client.request(method, self.address.url + path, json=body)
            except httpx.TimeoutException:
                if last:
                    raise self._fault("no answer in time", "check the server's load") from None
            except httpx.HTTPError as error:
                if last:
                    what = f"cannot be reached ({first_line(error)})"
                    raise self._fault(what, "check the address, and that the server runs") from None
            else:
                if answer.status_code not in _BUSY or last:
                    return self._checked(answer, path)
            time.sleep(self.pause * 2 ** (attempt - 1))
        raise AssertionError("unreachable")

    def _checked(self, answer: httpx.Response, path: str) -> Mapping[str, Any]:
        status = answer.status_code
        if status in (401, 403):
            raise self._fault(f"it refuses the key ({status})", f"set {KEY}")
        if status in (404, 405, 501):
            # The message names the reason where the endpoint is there, but not the model.
            what = f"no endpoint {path}, or no model {self.model!r} ({status}{_message(answer)})"
            raise self._fault(what, "use a server with the OpenAI interface for completions")
        if answer.is_redirect:
            raise self._fault(f"it redirects to {answer.headers.get('location')}", "give that address")
        if status >= 500:
            raise self._fault(f"it fails ({status}{_message(answer)})", "see the server's log")
        if status >= 400:
            fault = self._fault(
                f"it refuses the request ({status}{_message(answer)})", "see the server's log"
            )
            raise _Refused(fault.what, fault.where, fault.fix)
        try:
            value = answer.json()
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise self._fault("the answer is no JSON object", "check that it has the OpenAI interface")
        return value

    def _fault(self, what: str, fix: str) -> NightjarError:
        # Some servers repeat the key in their message.
        shown = what.replace(self._key, "…") if self._key else what
        return NightjarError(shown, f"{PREFIX}{self.address.url}", fix)


def _key() -> str:
    """The key of the environment. Raises NightjarError for one that no header can have; it is not shown."""
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise NightjarError("it has characters that no header can have", KEY, "set it again")
    return key


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _message(answer: httpx.Response) -> str:
    """The beginning of what a server says of a fault."""
    try:
        value: Any = answer.json()
    except ValueError:
        return ""
    for name in ("error", "message", "detail"):
        value = value.get(name, value) if isinstance(value, dict) else value
    text = printable(" ".join(str(value).split()))
    return f": {text[:_SHOWN]}"
