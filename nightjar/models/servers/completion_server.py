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
from threading import Lock
from typing import Any, ClassVar, Self

from nightjar.core.errors import NightjarError
from nightjar.models.completions import Completion, until_stop
from nightjar.models.interface import Capability, Decoding, Model, Request, Score, answer_in_threads
from nightjar.models.servers.forced_tokens import ForcedTokens, written_token
from nightjar.models.servers.http_client import HttpClient, NoAnswer, RequestLimits, RequestRefused
from nightjar.models.servers.once import Once
from nightjar.models.servers.prompt_logprobs import WAYS, LogprobRequest, ScoredToken, is_number
from nightjar.models.servers.server_address import MODELS, TOKENIZE, Address

log = logging.getLogger("nightjar")

# The largest count of tokens that a table of predictions can hold.
MOST_TOKENS = 2**31 - 1
# The longest name of a model that a server may choose; it names a system, and is in messages and tables.
MODEL_CHARACTERS = 200
# Greedy decoding without a penalty for repeated tokens, by the names that llama.cpp and vLLM give it: the default of
# llama-cpp-python is 1.1.
NEUTRAL = {"repeat_penalty": 1.0, "repetition_penalty": 1.0}
# Why a server ends a text, where that is no answer: vLLM's `abort`, OpenAI's `content_filter`, OpenRouter's `error`.
NO_ANSWER = frozenset({"abort", "content_filter", "error"})
NO_LOGPROBS = "it gives no log-probabilities of a given text"
# A server is tried with this text. The token that it writes after it may have a log-probability that differs by so many
# nats when it is sent back. It writes one token: the text of several, such as two line ends, may be split into others.
_PROBE, _MOST_APART = "The capital of France is", 0.5


class Unscored(NightjarError):
    """The server does not give the log-probabilities of a given text."""


class CompletionServer(Model):
    """A connection to the server of an address, or of `URL` or `URL#MODEL`; use it as a context manager.

    Threads may share it. Its tokenizer, which is not known, may add special tokens to a prompt. It gets no template.

    Raises NightjarError, with one line for each fault, from every method: the server cannot be reached, is too slow,
    refuses the request, has no such endpoint, or gives an answer that is not a completion.
    """

    can: ClassVar[frozenset[Capability]] = frozenset({"generate", "tools"})
    title: ClassVar[str] = "a server"
    at_once: ClassVar[int] = 4
    # How its sources begin, and what it is asked at.
    kind: ClassVar[str] = "server"
    path: ClassVar[str] = "/completions"
    # What a server may refuse, and the name that newer ones have for it; those without one are left out.
    adaptable: ClassVar[Mapping[str, str | None]] = dict.fromkeys(NEUTRAL)

    def __init__(self, address: Address | str, limits: RequestLimits | None = None) -> None:
        if isinstance(address, str):
            address = Address.parse(f"{self.kind}:{address}")
        self.address = address
        self._http = HttpClient(address.url, f"{self.kind}:{address.url}", limits or RequestLimits())
        self.model = address.model or ""
        self._adapted: dict[str, str | None] = {}
        self._way = Once(self._find_way)
        # Whether it puts a token before a text, so that the first token of a text has a value, too.
        self._begins = False
        self._adapting = Lock()

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
    def check_source(cls, kind: str, argument: str) -> None:
        Address.parse(f"{kind}:{argument}")

    @classmethod
    def name(cls, kind: str, argument: str) -> str:
        address = Address.parse(f"{kind}:{argument}")
        if address.model:
            return address.model
        with cls(address) as server:
            return server.model

    def facts(self) -> Mapping[str, Any]:
        """Calls start where the server's model writes them."""
        return {
            "server": {
                **self.identity,
                "call_top_k": 1,
                "without_penalty": not NEUTRAL.keys() <= self._adapted.keys(),
            }
        }

    def generate(
        self, requests: Mapping[int, Request], numbers: Sequence[int], decoding: Decoding
    ) -> Iterator[tuple[int, Completion]]:
        def complete_one(number: int) -> Completion:
            request = requests[number]
            return self.complete(request.prompt, request.max_new_tokens, request.stop)

        return answer_in_threads(complete_one, numbers, self.at_once)

    def complete(self, prompt: str, max_tokens: int, stop: Sequence[str]) -> Completion:
        """The greedy continuation of a prompt, up to the first stop text: some servers give that too."""
        body = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            "stop": list(stop) or None,
        }
        answer = self._request(body)
        choice = self._choice(answer)
        failure = self._failure(answer, choice) if choice else ""
        text = "" if failure or choice is None else choice.get("text")
        if choice is None or not isinstance(text, str):
            raise self._no_completion(answer)
        written = Completion(
            text,
            choice.get("finish_reason") == "length",
            self._count(answer["usage"], "completion_tokens"),
            self._count(answer["usage"], "prompt_tokens"),
            failure=failure,
        )
        return until_stop(written, stop)

    def _failure(self, answer: Mapping[str, Any], choice: Mapping[str, Any]) -> str:
        """Why a choice of an answer is no text of the model: an error, a filter or a refusal; empty if it is one."""
        message, reason = choice.get("message"), choice.get("finish_reason")
        refusal = message.get("refusal") if isinstance(message, dict) else None
        error = answer.get("error") or choice.get("error")
        ended = reason if isinstance(reason, str) and reason in NO_ANSWER else ""
        if not (error or refusal or ended):
            return ""
        kind = ended or ("error" if error else "refusal")
        detail = error or refusal
        if isinstance(detail, dict):
            detail = detail.get("message", detail)
        text = detail if isinstance(detail, str) else json.dumps(detail) if detail else ""
        return f"{kind}: {self._http.quote(' '.join(text.split()))}" if text else kind

    def _no_completion(self, answer: Mapping[str, Any], lack: str = "completion") -> NightjarError:
        """The fault of an answer without choices; an error in their place is named."""
        failure = self._failure(answer, {})
        return self._fault(f"the answer has no {lack}{f' ({failure})' if failure else ''}")

    @classmethod
    def abilities(cls, argument: str) -> frozenset[Capability]:
        """Add `score` if the server returns the log-probabilities of a text that it is sent, which is tried."""
        with cls(argument) as server:
            try:
                server.pieces(_PROBE)
            except Unscored as error:
                if error.what != NO_LOGPROBS:
                    log.warning("%s", error)
                return cls.can
            try:
                server.check_scores()
            except NoAnswer:
                raise
            except NightjarError as error:
                log.warning("%s", error)
                return cls.can
        return cls.can | {"score"}

    def check_scores(self) -> None:
        """Raise Unscored unless what the server writes has the same log-probabilities when it is sent back.

        llama-cpp-python gives those of other tokens for a model that has no token for the beginning of a text.
        """
        body = {"model": self.model, "prompt": _PROBE, "max_tokens": 1, "temperature": 0, "logprobs": 1}
        answer = self._request(body)
        choice = self._choice(answer) or {}
        text, logprobs = choice.get("text"), choice.get("logprobs")
        values = logprobs.get("token_logprobs") if isinstance(logprobs, dict) else None
        if values is None and (entry := written_token(answer)):
            values = [entry.get("logprob")]
        if not (isinstance(text, str) and text and isinstance(values, list) and all(map(is_number, values))):
            raise self._unscored("its log-probabilities of a given text cannot be checked")
        if abs(self._score(_PROBE, text).logprob - math.fsum(values)) > _MOST_APART:
            raise self._unscored("its log-probabilities of a given text are those of other tokens")

    def score(
        self, requests: Mapping[int, tuple[str, Sequence[str]]], numbers: Sequence[int]
    ) -> Iterator[tuple[int, list[Score]]]:
        """Score texts as local models do.

        A token with characters of prompt and text belongs to the text, and the first token of a text after no prompt
        does not count.
        """

        def score_one(number: int) -> list[Score]:
            prompt, texts = requests[number]
            return [self._score(prompt, text) for text in texts]

        return answer_in_threads(score_one, numbers, self.at_once)

    def _score(self, prompt: str, text: str) -> Score:
        pieces = self.pieces(prompt + text, len(prompt))
        if prompt:
            pieces = [piece for piece in pieces if piece.end > len(prompt)]
        elif self._begins or (pieces and pieces[0].logprob is None):
            # The first token of a text does not count. It is missing in a list that begins with a value although the
            # server puts no token before a text: it is a part of a character.
            pieces = pieces[1:]
        logprobs = [piece.logprob for piece in pieces if piece.logprob is not None]
        if len(logprobs) < len(pieces):
            what = "a token of the text has no probability"
            if isinstance(self._way(), ForcedTokens):
                raise self._fault(
                    what, "leave the task out: llama.cpp gives none of an unlikely part of a character"
                )
            raise self._fault(what)
        return Score(math.fsum(logprobs), len(logprobs))

    def pieces(self, text: str, start: int = 0) -> list[ScoredToken]:
        """The tokens of a text as the server has them; those that end at `start` or before it may be missing.

        Raises Unscored if it does not give them.
        """
        way = self._way()
        pieces = way.pieces(text, start) if isinstance(way, ForcedTokens) else self._read(way, text)
        if pieces is None:
            raise self._unscored(NO_LOGPROBS)
        return pieces

    def _find_way(self) -> LogprobRequest | ForcedTokens:
        """The way that gives the log-probabilities of a known text; Unscored if there is none.

        A server that fails on one, but not on the text alone, has none: what needs no log-probabilities can go on. One
        that gives no answer, or refuses the key, is asked for nothing more.
        """
        fault: NightjarError | None = None
        for way in WAYS:
            try:
                pieces = self._read(way, _PROBE)
            except NoAnswer:
                raise
            except RequestRefused as error:
                if error.status == 401:
                    raise
                if not re.search("echo|logprobs", error.reason):
                    fault = fault or error
                continue
            except NightjarError as error:
                fault = fault or error
                continue
            if pieces is not None and len(pieces) > 1:
                self._begins = pieces[0].logprob is not None
                return way
        if fault is not None:
            self._request({"model": self.model, "prompt": _PROBE, "max_tokens": 1, "temperature": 0})
        forced = ForcedTokens(self._tokenize, lambda body: self._request({"model": self.model, **body}))
        try:
            reason = forced.check(_PROBE)
        except NoAnswer:
            raise
        except NightjarError as error:
            is_unknown = isinstance(error, RequestRefused) and error.is_unknown
            reason = fault.what if fault else "" if is_unknown else error.what
        else:
            if not reason:
                return forced
        raise self._unscored(f"{NO_LOGPROBS}{f': {reason}' if reason else ''}")

    def _tokenize(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._http.ask(self.address.endpoint(TOKENIZE), body)

    def _read(self, way: LogprobRequest, text: str) -> list[ScoredToken] | None:
        """The tokens of a text by a way; None if the answer does not have them, and no others."""
        body = {"model": self.model, "prompt": text, "max_tokens": 1, "temperature": 0}
        answer = self._request({**body, **way.parameters})
        choice = self._choice(answer)
        pieces = way.read(choice.get(way.key), text) if choice else None
        count = answer["usage"].get("prompt_tokens")
        # A token for the beginning of a text may be counted, but not listed.
        if pieces is None or not (count is None or count in (len(pieces), len(pieces) + 1)):
            return None
        return pieces

    def _unscored(self, what: str) -> Unscored:
        fix = "leave the tasks out that need them, or use another server"
        return Unscored(what, f"{self.kind}:{self.address.url}", fix)

    @staticmethod
    def _choice(answer: Mapping[str, Any]) -> dict[str, Any] | None:
        """The first completion of an answer."""
        choices = answer.get("choices")
        return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None

    def _request(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a request for no penalty, without what the server refuses."""
        refused: dict[str, str | None] = {}
        while True:
            names = {**self._adapted, **refused}
            parameters = {**body, **NEUTRAL}
            sent = {new: value for name, value in parameters.items() if (new := names.get(name, name))}
            try:
                answer = self._ask(sent)
            except RequestRefused as error:
                name = next((name for name in self.adaptable if name in sent and error.names(name)), None)
                if name is None:
                    raise
                refused[name] = self.adaptable[name]
                continue
            # Only now: a request that is refused for something else changes no other.
            for name, new in refused.items():
                self._adapt(name, new, f"refuses {name}")
            return {**answer, "usage": self._usage(answer)}

    def _adapt(self, name: str, new: str | None, reason: str) -> None:
        """Send a parameter by a new name, or not at all, and say so once: answers may be others without it."""
        with self._adapting:
            if name not in self._adapted:
                way = f"it is sent as {new}" if new else "it is left out"
                log.warning("%s:%s %s: %s from now on", self.kind, self.address.url, reason, way)
            self._adapted[name] = new

    def _usage(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The counts of an answer; empty where the server gives none."""
        usage = answer.get("usage")
        if not isinstance(usage, dict | None):
            raise self._fault("usage of the answer is not an object")
        return usage or {}

    def _ask(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._http.ask(self.address.endpoint(self.path), body)

    def _only_model(self) -> str:
        """The name of the only model."""
        fix = f"give {self.kind}:{self.address.url}#MODEL"
        try:
            listing = self._http.ask(self.address.endpoint(MODELS))
            names = [it["id"] for it in listing["data"]]
        except NightjarError as error:
            raise NightjarError(error.what, error.where, f"{error.fix}, or {fix}") from None
        except (LookupError, TypeError):
            names = []
        if not names or not all(isinstance(name, str) and name for name in names):
            raise self._fault("it names no model", fix)
        if not all(len(name) <= MODEL_CHARACTERS and name.isprintable() for name in names):
            what = f"the name of a model is not printable, or longer than {MODEL_CHARACTERS} characters"
            raise self._fault(what, fix)
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
        quoted = json.dumps(value) if isinstance(value, int | float) else type(value).__name__
        raise self._fault(f"{name} of the answer is not a count of tokens: {quoted}")
