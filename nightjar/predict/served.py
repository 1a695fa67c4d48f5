"""Predictions of a model behind a server: the weights of the system are the server's address, `server:URL`.

The prompts are the texts of the other systems, limited in tokens of the project's language model, whose tokenizer is
read. The server gets them without a template; its own tokenizer may add special tokens.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from threading import Event
from typing import Any

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.models.server import AT_ONCE, MOST_TOKENS, PREFIX, Address, Server
from nightjar.models.tokenizer import load_tokenizer
from nightjar.predict.answers import answer_row, ask, limit, stops
from nightjar.predict.model import toolbox_of
from nightjar.predict.predictor import Job, Predictor, Row, about
from nightjar.tools import Toolbox
from nightjar.tools.by_text import Piece, answer

# Kinds of tasks that a server cannot answer, and why.
LACKING: Mapping[str, str] = {
    "choose": "a server gives no log-probabilities of given choices",
    "perplexity": "a server gives no log-probabilities of a given text",
    "sample": "a server does not sample with the seed of the parameters",
}


class ServerPredictor(Predictor):
    """Answers of the model behind `server`. Raises NightjarError for every fault of the server."""

    def __init__(self, job: Job, server: Server) -> None:
        self.questions = job.questions
        self._job, self._server = job, server
        self._tokenizer = load_tokenizer(job.base)
        self._toolbox = toolbox_of(job) if job.system.calls == "on" else Toolbox([])
        self._asked = ask(job.card, self._tokenizer, self.questions, {}, 0, job.encoding)
        self.decides = job.decides(server=[server.address.url, server.model], calls=self._toolbox.versions)
        self.keys = [one.digest for one in self._asked]

    def facts(self) -> Mapping[str, Any]:
        """Calls start where the server's model writes them."""
        about = {"url": self._server.address.url, "model": self._server.model}
        return {
            "server": {**about, "call_top_k": 1, "without_penalty": self._server.neutral},
            "prompts_limited_by": paths.LANGUAGE_MODEL.as_posix(),
        }

    def answer(self, numbers: Sequence[int]) -> Iterator[tuple[int, Row]]:
        return at_once(self._one, numbers)

    def about(self, number: int) -> Row:
        address = self._server.address
        named = json.dumps({"url": address.url, "model": address.model}) + "\n"
        return about(self._asked[number].prompt, 0, hashlib.sha256(named.encode()).hexdigest())

    def _one(self, number: int) -> Row:
        """The answer to a question, with the tokens of its prompt."""
        job, asked, started = self._job, self._asked[number], time.monotonic()
        task, settings = asked.question.task_id, job.settings
        stop = stops(job.card, task, settings)
        prompt_tokens: list[int | None] = []

        def count(text: str) -> int:
            return len(self._tokenizer.continuation(text))

        def write_on(prompt: str, tokens: int) -> Piece:
            found = self._server.complete(prompt, tokens, stop)
            prompt_tokens.append(found.prompt_tokens)
            return Piece(found.text, count(found.text) if found.tokens is None else found.tokens, found.cut)

        allowed = self._toolbox.without(job.card.task(task).forbidden_tools)
        most = limit(job.card, task, settings)
        given = answer(write_on, count, asked.prompt, most, allowed, settings.max_calls, asked.question.day)
        if given.tokens > MOST_TOKENS:
            where = f"{PREFIX}{self._server.address.url}"
            raise NightjarError(
                "the counts of an answer's requests are too large", where, "see the server's log"
            )
        return {
            **answer_row(given, settings),
            "seconds": round(time.monotonic() - started, 6),
            "prompt_tokens": len(asked.ids) if prompt_tokens[0] is None else prompt_tokens[0],
        }


@contextmanager
def served(job: Job) -> Iterator[ServerPredictor]:
    """The predictor with a connection to its server. What the server cannot do is refused before it is asked."""
    _check(job)
    with Server(Address.parse(job.system.weights)) as server:
        yield ServerPredictor(job, server)


def at_once(
    answer_one: Callable[[int], dict[str, Any]], numbers: Sequence[int]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The answers to questions, AT_ONCE at a time, as they arrive.

    After a fault no other is asked for; those that are under way are given before the fault is raised.
    """
    fault: BaseException | None = None
    # Not by cancelling: `as_completed` waits for ever for what the end of a pool cancelled.
    stopped = Event()

    def one(number: int) -> dict[str, Any] | None:
        return None if stopped.is_set() else answer_one(number)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = {pool.submit(one, number): number for number in numbers}
        try:
            for done in as_completed(waiting):
                if (error := done.exception()) is not None:
                    fault = fault or error
                    stopped.set()
                elif (found := done.result()) is not None:
                    yield waiting[done], found
        finally:
            stopped.set()
    if fault is not None:
        raise fault


def _check(job: Job) -> None:
    """Raise NightjarError for a task that no server can answer, and for settings that it cannot follow."""
    for task in dict.fromkeys(one.task_id for one in job.questions):
        if (reason := LACKING.get(job.card.task(task).kind)) is not None:
            where = f"predict.systems.{job.item}"
            raise NightjarError(f"{task}: {reason}", where, "leave this task out, or use weights")
    if job.evidence is not None:
        fix = f"set it to {paths.NONE}"
        raise NightjarError("a server gets no evidence", job.key("evidence"), fix)
    if job.system.calls == "disabled":
        what = "a server's model cannot be kept from writing calls"
        raise NightjarError(what, job.key("calls"), "set it to off")
    if job.settings.temperature:
        where = f"predict.{job.card.name}.temperature"
        raise NightjarError("a server does not sample with the seed of the parameters", where, "set it to 0")
