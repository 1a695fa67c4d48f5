"""A client of servers with the OpenAI interface for completions (llama.cpp, vLLM, TGI and others).

A request has the text of a prompt, the stop strings and the largest number of tokens; decoding is greedy. How requests
are sent, and their limits, are in `http_client`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from nightjar.core.errors import NightjarError
from nightjar.models.http_client import KEY, HttpClient, Limits, Refused, address
from nightjar.models.model import Capability, Decoding, Model, Request, Text, at_once

# The largest count of tokens that a table of predictions can hold.
MOST_TOKENS = 2**31 - 1
# Greedy decoding without a penalty for repeated tokens, by the names that llama.cpp and vLLM give it: the default of
# llama-cpp-python is 1.1. A server that refuses unknown names gets neither.
NEUTRAL = {"repeat_penalty": 1.0, "repetition_penalty": 1.0}


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
        self.neutral = True

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
        try:
            choice = found["choices"][0]
            text = choice["text"]
        except (LookupError, TypeError):
            text = None
        if not isinstance(text, str):
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

    def _complete(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a request, without a penalty where the server can be asked for that (`neutral`)."""
        if self.neutral:
            try:
                return self._http.ask("POST", "/v1/completions", {**body, **NEUTRAL})
            except Refused as error:
                if not any(name in error.said for name in NEUTRAL):
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
        told = json.dumps(value) if isinstance(value, int | float) else type(value).__name__
        raise self._fault(f"{name} of the answer is not a count of tokens: {told}")
