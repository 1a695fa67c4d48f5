"""Predictions of a model behind a server: its weights are a folder with server.json, which names the server.

The prompts are the texts of the other systems, limited in tokens of the project's language model, whose tokenizer is
read. The server gets them without a template; its own tokenizer may add special tokens.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.files import read_questions
from nightjar.core.errors import NightjarError
from nightjar.core.files import sha256_of, write_text
from nightjar.core.harness import Stage
from nightjar.core.journal import code, digest
from nightjar.core.json_text import read_object
from nightjar.core.predict_params import PredictBenchmark, System
from nightjar.lm.server import AT_ONCE, MOST_TOKENS, PREFIX, Address, Server
from nightjar.lm.tokenizer import load_tokenizer
from nightjar.tools import Toolbox
from nightjar.tools.by_text import Piece, answer
from stages.predict.answers import Asked, ask, before_full_stop, limit, stops
from stages.predict.output import publish
from stages.predict.prompts import MODEL, QUESTIONS, encoding_of

RECORD = "server.json"
# Kinds of tasks that a server cannot answer, and why.
LACKING: Mapping[str, str] = {
    "choose": "a server gives no log-probabilities of given choices",
    "perplexity": "a server gives no log-probabilities of a given text",
    "sample": "a server does not sample with the seed of the parameters",
}


def is_served(weights: Path) -> bool:
    """Whether these weights name a server."""
    return (weights / RECORD).is_file()


def write_record(weights: Path, address: Address) -> None:
    """Write the folder that names a server."""
    weights.mkdir(parents=True, exist_ok=True)
    write_text(weights / RECORD, json.dumps({"url": address.url, "model": address.model}) + "\n")


def read_record(weights: Path) -> Address:
    """The server that a folder names. Raises NightjarError for a damaged record."""
    found = read_object(weights / RECORD, "write it again")
    url, model = found.get("url"), found.get("model")
    if not isinstance(url, str) or not isinstance(model, str | None):
        raise NightjarError(
            "it names no server", weights / RECORD, 'write {"url": "http://...", "model": null}'
        )
    return replace(Address.parse(PREFIX + url), model=model)


def predict(stage: Stage, card: Card, system: System, toolbox: Toolbox) -> None:
    """Answer with the server of system.weights: a row of contracts.PREDICTIONS for each question.

    Raises NightjarError for a task that no server can answer, for settings that it cannot follow, and for every fault
    of the server.
    """
    source, weights = QUESTIONS / card.name, Path(system.weights)
    settings = stage.params.predict.benchmark(card.name)
    questions = read_questions(source)
    _check(stage, card, system, settings, [one.task_id for one in questions])
    tokenizer = load_tokenizer(MODEL)
    asked = ask(card, tokenizer, questions, {}, 0, encoding_of(stage.params, card.name))
    with Server(read_record(weights)) as server:
        decides = {
            "server": [server.address.url, server.model],
            "settings": settings.model_dump(),
            "calls": toolbox.versions,
            "card": [card.name, card.version],
            "code": code(
                "nightjar/lm/server.py",
                "nightjar/lm/http_client.py",
                "stages/predict",
                "nightjar/prompts",
                "nightjar/tools",
            ),
        }
        keys = [digest({"asked": [*it.question.key, it.prompt, str(it.question.day)]}) for it in asked]

        def one(number: int) -> dict[str, Any]:
            return _answered(
                server, card, asked[number], settings, toolbox, lambda text: len(tokenizer.continuation(text))
            )

        def answer_all(numbers: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
            return at_once(one, numbers)

        with stage.resumed_in_any_order(decides, keys, answer_all, "questions") as given:
            if given is None:
                return
            own = {"model_sha256": sha256_of(weights / RECORD), "adapter_sha256": None}
            rows = [
                {"prompt": it.prompt, "prompt_sha256": it.sha256, **row, **own}
                for it, row in zip(asked, given, strict=True)
            ]
            publish(stage, system, questions, rows)
        # What the facts say beside the settings: calls start where the server's model writes them.
        stage.details["server"] = {
            "url": server.address.url,
            "model": server.model,
            "call_top_k": 1,
            "without_penalty": server.neutral,
        }
        stage.details["prompts_limited_by"] = MODEL.as_posix()
    stage.reads(source, weights, MODEL)


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


def _check(
    stage: Stage, card: Card, system: System, settings: PredictBenchmark, tasks: Sequence[str]
) -> None:
    where = f"predict.systems.{stage.item}"
    for task in dict.fromkeys(tasks):
        if (reason := LACKING.get(card.task(task).kind)) is not None:
            raise NightjarError(f"{task}: {reason}", where, "leave this task out, or use weights")
    if system.evidence != (QUESTIONS / card.name).as_posix():
        raise NightjarError(
            "a server gets no evidence", f"{where}.evidence", f"set it to {QUESTIONS / card.name}"
        )
    if system.calls == "disabled":
        raise NightjarError(
            "a server's model cannot be kept from writing calls", f"{where}.calls", "set it to off"
        )
    if settings.temperature:
        fix = f"set predict.{card.name}.temperature to 0"
        raise NightjarError("a server does not sample with the seed of the parameters", where, fix)


def _answered(
    server: Server, card: Card, asked: Asked, settings: PredictBenchmark, toolbox: Toolbox, count: Any
) -> dict[str, Any]:
    """The columns of contracts.PREDICTIONS for a question, and the seconds."""
    started, task = time.monotonic(), asked.question.task_id
    stop = stops(card, task, settings)
    prompt_tokens: list[int | None] = []

    def write_on(prompt: str, tokens: int) -> Piece:
        found = server.complete(prompt, tokens, stop)
        prompt_tokens.append(found.prompt_tokens)
        return Piece(found.text, count(found.text) if found.tokens is None else found.tokens, found.cut)

    allowed = toolbox.without(card.task(task).forbidden_tools)
    most = limit(card, task, settings)
    given = answer(write_on, count, asked.prompt, most, allowed, settings.max_calls, asked.question.day)
    if given.tokens > MOST_TOKENS:
        where = f"{PREFIX}{server.address.url}"
        raise NightjarError("the counts of an answer's requests are too large", where, "see the server's log")
    prediction = before_full_stop(given.prediction) if settings.cut_at_full_stop else given.prediction
    return {
        "answers": [prediction],
        "text": given.text,
        "calls": [{"tool": it.tool, "input": it.input, "result": it.result} for it in given.calls],
        "new_tokens": given.tokens,
        "seconds": round(time.monotonic() - started, 6),
        "prompt_tokens": len(asked.ids) if prompt_tokens[0] is None else prompt_tokens[0],
    }
