"""A client of servers with the OpenAI interface for completions (llama.cpp, vLLM, TGI and others).

A request has the text of a prompt, the stop strings and the largest number of tokens; decoding is greedy. How requests
are sent, and their limits, are in `http_client`.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from nightjar.core.errors import NightjarError
from nightjar.models.http_client import KEY, HttpClient, Limits, Refused, address
from nightjar.models.model import Capability, Decoding, Model, Request, Score, Text, at_once

log = logging.getLogger("nightjar")

# The largest count of tokens that a table of predictions can hold.
MOST_TOKENS = 2**31 - 1
# Greedy decoding without a penalty for repeated tokens, by the names that llama.cpp and vLLM give it: the default of
# llama-cpp-python is 1.1. A server that refuses unknown names gets neither.
NEUTRAL = {"repeat_penalty": 1.0, "repetition_penalty": 1.0}


# Two ways to ask for the log-probabilities of a prompt: that of OpenAI (llama.cpp, TGI, vLLM), and that of vLLM alone.
ECHO: Mapping[str, Any] = {"echo": True, "logprobs": 1}
PROMPT_LOGPROBS: Mapping[str, Any] = {"prompt_logprobs": 0}
# What is continued by a token to try a server, and the difference of its log-probabilities, in nats, at most. Several
# tokens may be others when their text is sent back, such as two line ends.
_PROBE, _MOST_APART = "The capital of France is", 0.5


class Unscored(NightjarError):
    """The server does not give the log-probabilities of a given text."""


class Piece(NamedTuple):
    """A token of a text: where its characters end, and its log-probability; the first may have none."""

    end: int
    logprob: float | None


@dataclass(frozen=True)
class Address:
    """`url` is the part before /v1/completions. `model` is None for the only model of a server."""

    url: str
    model: str | None

    @classmethod
    def parse(cls, source: str) -> Address:
        """From `KIND:URL` or `KIND:URL#MODEL`. Raises NightjarError for anything else.

        An address must not have a password: it would be in files and logs.
        """
        kind, _, given = source.partition(":")
        fix = f"write {kind}:http://HOST:PORT, or {kind}:URL#MODEL for one of several models"
        # Neither a password nor a key in a query is repeated.
        named = re.sub(r"\?[^#]*", "?…", re.sub(r"//.*@", "//…@", source))
        try:
            url = address(given)
        except ValueError as error:
            raise NightjarError(str(error), named, fix) from None
        if url.userinfo:
            raise NightjarError("the address has a password", named, f"set it as {KEY}")
        if url.query:
            raise NightjarError("not the address of a server", named, fix)
        base = str(url.copy_with(query=None, fragment=None)).rstrip("/")
        base = base.removesuffix("/completions").removesuffix("/chat").removesuffix("/v1")
        return cls(base.rstrip("/"), url.fragment or None)


class Server(Model):
    """A connection to the server of an address, or of `URL` or `URL#MODEL`; use it as a context manager.

    Threads may share it. Its tokenizer, which is not known, may add special tokens to a prompt. It gets no template.

    Raises NightjarError, with one line for each fault, from every method: the server cannot be reached, is too slow,
    refuses the request, has no such endpoint, or gives an answer that is not a completion.
    """

    can: ClassVar[frozenset[Capability]] = frozenset({"generate", "tools"})
    title: ClassVar[str] = "a server"
    at_once: ClassVar[int] = 4
    # How its sources begin.
    kind: ClassVar[str] = "server"

    def __init__(self, address: Address | str, limits: Limits | None = None) -> None:
        if isinstance(address, str):
            address = Address.parse(f"{self.kind}:{address}")
        self.address = address
        self._http = HttpClient(address.url, f"{self.kind}:{address.url}", limits or Limits())
        self.model = address.model or ""
        self.neutral, self.way = True, 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._http)
            if not self.address.model:
                self.model = self._only_model()
            self.identity = {"url": self.address.url, "model": self.model}
            self._open = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    @classmethod
    def name(cls, kind: str, argument: str) -> str:
        address = Address.parse(f"{kind}:{argument}")
        return address.model or f"{kind}_{address.url.partition('//')[2]}"

    def facts(self) -> Mapping[str, Any]:
        """Calls start where the server's model writes them."""
        return {"server": {**self.identity, "call_top_k": 1, "without_penalty": self.neutral}}

    def generate(
        self, requests: Mapping[int, Request], wanted: Sequence[int], decoding: Decoding
    ) -> Iterator[tuple[int, Text]]:
        def one(number: int) -> Text:
            request = requests[number]
            return self.complete(request.prompt, request.max_new_tokens, request.stop)

        return at_once(one, wanted, self.at_once)

    def complete(self, prompt: str, max_tokens: int, stop: Sequence[str]) -> Text:
        """The greedy continuation of a prompt, without the stop string that ended it."""
        body = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            "stop": list(stop) or None,
        }
        found = self._complete(body)
        choice = self._choice(found)
        if choice is None or not isinstance(text := choice.get("text"), str):
            raise self._fault("the answer has no completion")
        counts = {} if (used := found.get("usage")) is None else used
        if not isinstance(counts, dict):
            raise self._fault("usage of the answer is not an object")
        return Text(
            text,
            choice.get("finish_reason") == "length",
            self._count(counts, "completion_tokens"),
            self._count(counts, "prompt_tokens"),
        )

    @classmethod
    def abilities(cls, argument: str) -> frozenset[Capability]:
        """With `score` for a server that gives the log-probabilities of a text that it is sent, which is tried."""
        with cls(argument) as server:
            try:
                server.pieces(_PROBE)
            except Unscored:
                return cls.can
            try:
                server.check_scores()
            except Unscored as error:
                log.warning("%s", error)
                return cls.can
        return cls.can | {"score"}

    def check_scores(self) -> None:
        """Raise Unscored unless what the server writes has the same log-probabilities when it is sent back.

        llama-cpp-python gives those of other tokens for a model that has no token for the beginning of a text.
        """
        body = {"model": self.model, "prompt": _PROBE, "max_tokens": 1, "temperature": 0, "logprobs": 1}
        choice = self._choice(self._complete(body)) or {}
        text, logprobs = choice.get("text"), choice.get("logprobs")
        given = logprobs.get("token_logprobs") if isinstance(logprobs, dict) else None
        if not (isinstance(text, str) and text and isinstance(given, list) and all(map(_is_number, given))):
            raise self._unscored("its log-probabilities of a given text cannot be checked")
        if abs(self._score(_PROBE, text).logprob - math.fsum(given)) > _MOST_APART:
            raise self._unscored("its log-probabilities of a given text are those of other tokens")

    def score(
        self, requests: Mapping[int, tuple[str, Sequence[str]]], wanted: Sequence[int]
    ) -> Iterator[tuple[int, list[Score]]]:
        """As for weights, a token with characters of prompt and text belongs to the text.

        Of a text after no prompt the server gives the first token no probability: it does not count.
        """

        def one(number: int) -> list[Score]:
            prompt, texts = requests[number]
            return [self._score(prompt, text) for text in texts]

        return at_once(one, wanted, self.at_once)

    def _score(self, prompt: str, text: str) -> Score:
        pieces = [piece for piece in self.pieces(prompt + text) if piece.end > len(prompt)]
        given = [piece.logprob for piece in pieces if piece.logprob is not None]
        if len(given) < len(pieces) - (not prompt):
            raise self._fault("a token of the text has no probability")
        return Score(math.fsum(given), len(given))

    def pieces(self, text: str) -> list[Piece]:
        """The tokens of a text as the server has them. Raises Unscored if it does not give them."""
        body = {"model": self.model, "prompt": text, "max_tokens": 1, "temperature": 0}
        ways = ((ECHO, "logprobs", _echoed), (PROMPT_LOGPROBS, "prompt_logprobs", _prompt_logprobs))
        for way in range(self.way, len(ways)):
            more, key, read = ways[way]
            try:
                found = self._complete({**body, **more})
            except Refused as error:
                if not re.search("echo|logprobs", error.reason):
                    raise
                continue
            choice = self._choice(found)
            pieces = read(choice.get(key), text) if choice else None
            if pieces is not None:
                self.way = way
                return pieces
        raise self._unscored("it gives no log-probabilities of a given text")

    def _unscored(self, what: str) -> Unscored:
        fix = "leave the tasks out that need them, or use another server"
        return Unscored(what, f"{self.kind}:{self.address.url}", fix)

    @staticmethod
    def _choice(found: Mapping[str, Any]) -> dict[str, Any] | None:
        """The first completion of an answer."""
        choices = found.get("choices")
        return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None

    def _complete(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a request, without a penalty where the server can be asked for that (`neutral`)."""
        if self.neutral:
            try:
                return self._http.ask("POST", "/v1/completions", {**body, **NEUTRAL})
            except Refused as error:
                if not any(name in error.reason for name in NEUTRAL):
                    raise
                self.neutral = False
        return self._http.ask("POST", "/v1/completions", body)

    def _only_model(self) -> str:
        """The name of the only model."""
        found = self._http.ask("GET", "/v1/models")
        try:
            names = [one["id"] for one in found["data"]]
        except (LookupError, TypeError):
            names = []
        fix = f"give {self.kind}:{self.address.url}#MODEL"
        if not names or not all(isinstance(name, str) and name for name in names):
            raise self._fault("it names no model", fix)
        if len(names) > 1:
            raise self._fault(f"it has several models: {', '.join(names[:10])}", fix)
        return names[0]

    def _fault(self, what: str, fix: str = "check that it has the OpenAI interface") -> NightjarError:
        return self._http.fault(what, fix)

    def _count(self, counts: Mapping[str, Any], name: str) -> int | None:
        """A count of tokens, or None where the server gives none."""
        value = counts.get(name)
        if value is None or (type(value) is int and 0 <= value <= MOST_TOKENS):
            return value
        found = json.dumps(value) if isinstance(value, int | float) else type(value).__name__
        raise self._fault(f"{name} of the answer is not a count of tokens: {found}")


def _echoed(given: Any, text: str) -> list[Piece] | None:
    """The pieces of `logprobs` of an answer that repeats its prompt; None if they are not there."""
    if not isinstance(given, dict):
        return None
    starts, logprobs = given.get("text_offset"), given.get("token_logprobs")
    if not isinstance(starts, list) or not isinstance(logprobs, list) or len(starts) != len(logprobs):
        return None
    if not all(type(one) is int for one in starts) or starts != sorted(starts) or starts[:1] != [0]:
        return None
    if starts[-1] > len(text):
        return None  # it wrote one token at most, which begins behind the text: these are no places of characters
    ends = [*starts[1:], len(text)]
    # Behind the text is what the server wrote.
    return _pieces(
        [(end, one) for start, end, one in zip(starts, ends, logprobs, strict=True) if start < len(text)]
    )


def _prompt_logprobs(given: Any, text: str) -> list[Piece] | None:
    """The pieces of vLLM's `prompt_logprobs`: for each token an object with one entry, null for the first."""
    if (
        not isinstance(given, list)
        or len(given) < 2
        or not all(isinstance(one, dict) and one for one in given[1:])
    ):
        return None
    tokens = [next(iter(one.values())) for one in given[1:]]
    if not all(isinstance(one, dict) and isinstance(one.get("decoded_token"), str) for one in tokens):
        return None
    rest = "".join(one["decoded_token"] for one in tokens)
    if not text.endswith(rest):
        return None
    end = len(text) - len(rest)
    found: list[tuple[int, Any]] = [(end, None)] if end else []
    for one in tokens:
        end += len(one["decoded_token"])
        found.append((end, one.get("logprob")))
    return _pieces(found)


def _pieces(given: Sequence[tuple[int, Any]]) -> list[Piece] | None:
    """The pieces; None if one has no probability, other than the first."""
    for place, (_, logprob) in enumerate(given):
        if not _is_number(logprob) and (place or logprob is not None):
            return None
    return [Piece(*one) for one in given]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
