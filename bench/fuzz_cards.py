"""Broken cards of other packages for bench/fuzz.py: fields, results, exceptions and names that no card should have.

A case is a list of changes of a small valid card, as JSON. The card is loaded by an entry point and used as the stages
and `nightjar score` use it.
"""

from __future__ import annotations

import errno
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from bench.mutate import Reader
from nightjar.benchmarks import registry
from nightjar.benchmarks.capabilities import EvaluationFacts, Explain, Query, Tracks
from nightjar.benchmarks.card import Card, Choice, Files, Metric, Task
from nightjar.benchmarks.question import Asking, Question, Record, Sources
from nightjar.benchmarks.score import compare_files, score_files, score_rows
from nightjar.core.errors import NightjarError
from nightjar.params import load as load_params

NAME = "card"
COUNT = 24
ENCODING = load_params(Path(__file__).parents[1] / "params.yaml").encoding


class Rude:
    """Nothing of it can be asked without an exception."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}\x1b[31m")

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    def __bool__(self) -> bool:
        raise RuntimeError("neither true nor false")

    __hash__ = None  # type: ignore[assignment]


class RudeError(Exception):
    """Its message cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no message")


class OddError(BaseException):
    """Not even an Exception."""


def _deep() -> Any:
    return _deep()


def _raises(error: BaseException) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        print("a card prints")
        raise error

    return function


def _later(error: BaseException) -> Callable[..., Iterator[Any]]:
    def function(*arguments: Any) -> Iterator[Any]:
        yield QUESTION
        raise error

    return function


ERRORS: tuple[BaseException, ...] = (
    ValueError(""), ValueError("a\nb\x1b[31m\u202e"), KeyError("x" * 5000), SystemExit(), SystemExit(0),
    StopIteration(), GeneratorExit(), MemoryError(), RecursionError(), RudeError(), OddError("x"),
    OSError(errno.ENOSPC, "full"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"),
    NightjarError("own\nline", "card", "\x1b[2J"), AssertionError(),
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 10**400, 1.5, math.nan, math.inf, "", "text", "\x1b[31m\u202e", "\ud800", "../x", b"x", (), [],
    {}, ("overal",), ("a", "a"), ("",), ["a"], {"a": 1}, {1: 2}, {"a": {"b": math.nan}}, object(), Rude(), Rude, int,
    np.zeros(COUNT), np.array(1.0), lambda *a: None, lambda *a: a, lambda: 1, _deep, Metric, Metric("n", "n"),
    (Metric("accuracy", "x", ("a", "b")),), (Metric("accuracy", "x"), Metric("accuracy", "y")), Task(), {"t": Task()},
    {"t": Task(kind="choose")}, {"t": Task(kind="sample")}, {"t": Task(choices=(Choice("a", "b"),))}, range(3),
    Files("", ""), iter([1]), (1.0, 0.0), (-math.inf, math.inf), (math.nan, 1.0), ({},), frozenset({"a"}),
    *(_raises(error) for error in ERRORS), *(_later(error) for error in ERRORS),
)  # fmt: skip
PARTS: tuple[Callable[[np.ndarray[Any, Any]], Any], ...] = (
    lambda a: a[:-1], lambda a: np.append(a, 1.0), lambda a: a[:, None], lambda a: a.tolist(), lambda a: tuple(a),
    lambda a: a.astype(object), lambda a: a.astype(complex), lambda a: a.astype(str), lambda a: a.astype(bool),
    lambda a: a.astype(np.int8), lambda a: a.astype(np.float16), lambda a: np.full(len(a), -np.inf),
    lambda a: a * np.nan, lambda a: a * 7200, lambda a: a - 1.5, lambda a: np.where(a == a.max(), np.inf, a),
    lambda a: np.ma.array(a), lambda a: np.where(np.arange(len(a)) == 3, np.nan, a), lambda a: a[::-1],
    lambda a: a + 1e-12, lambda a: 1.0, lambda a: None, lambda a: np.array(1.0), lambda a: a.astype("datetime64[s]"),
    lambda a: Rude(), lambda a: a[:0], lambda a: np.full(len(a), 1e308), lambda a: a.view(),
)  # fmt: skip
NAMES: tuple[Any, ...] = ("acuracy", "", "n", "\x1b[31m", "\ud800", 1, None, "rest")
FUNCTIONS = ("score", "questions", "prompt", "baselines", "load")
CAPABILITIES = (
    (Tracks, "metric_of"), (Tracks, "titles"), (Tracks, "levels"), (Query, "text"), (Explain, "line"),
    (EvaluationFacts, "facts"),
)  # fmt: skip
QUESTION = Question(NAME, "t", "q0", {"question": "q?"}, ("0",), category="c")


def _score(questions: Any, answers: Any) -> Mapping[str, Any]:
    right = np.array(
        [float(given[:1] == [q.references[0]]) for q, given in zip(questions, answers, strict=True)]
    )
    return {"accuracy": right, "hits": right, "tries": np.ones(len(right))}


def _ratio(values: Any) -> Any:
    return values[:, :, 0].sum(axis=1) / values[:, :, 1].sum(axis=1)


CARD = Card(
    name=NAME, version=1, title="Card", source="nowhere", datasets=(NAME,),
    metrics=(Metric("accuracy", "Accuracy"), Metric("ratio", "Ratio", ("hits", "tries"), _ratio)),
    questions=lambda sources, settings, seed: (
        QUESTION._replace(id=f"q{n}", references=(str(n % 2),)) for n in range(COUNT)
    ),
    prompt=lambda question, asking: str(question.parts["question"]),
    score=_score, files=Files("predictions", "references", category="category"),
    tasks={"t": Task("T", max_new_tokens=8)},
    load=lambda folder: iter([Record("t", "1", "f", {"question": "q?"}, ("1",))]),
    baselines=lambda settings: {"one": lambda question, seed: "1"},
    capabilities=(
        Tracks({"t": "T"}, ("overall", "category", "task"), lambda category: "accuracy"),
        Query(lambda parts: str(parts["question"])),
        Explain(lambda question, given: {"given": list(given)}),
        EvaluationFacts(lambda scores, bootstrap: {"n": len(scores)}),
    ),
)  # fmt: skip


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One or two changes of the card: [what is changed, its name, the number of what takes its place]."""
    changes = json.loads(data)
    for _ in range(rng.choice((1, 1, 2))):
        kind = rng.randrange(10)
        odd = rng.randrange(len(ODD))
        if kind < 4:
            owner = rng.choice((Card, Card, Metric, Files, Task))
            changes.append([owner.__name__, rng.choice([one.name for one in fields(owner)]), odd])
        elif kind == 4:
            changes.append(["question", rng.choice(Question._fields), odd])
        elif kind < 7:
            changes.append(["part", rng.choice(("accuracy", "hits", "tries")), rng.randrange(len(PARTS))])
        elif kind == 7:
            changes.append(["name", rng.choice(("accuracy", "hits")), rng.randrange(len(NAMES))])
        elif kind == 8:
            changes.append(["gives", rng.choice(FUNCTIONS), odd])
        elif rng.randrange(2):
            changes.append(["capability", rng.randrange(len(CAPABILITIES)), odd])
        else:
            changes.append(["load", "", odd])
    return json.dumps(changes).encode()


def _changed(changes: list[list[Any]]) -> Any:
    """The card after the changes; raises what its module would raise."""
    card: Any = CARD
    for kind, name, number in changes:
        if kind == "load":
            found = ODD[number]
            return found() if callable(found) and number >= len(ODD) - 2 * len(ERRORS) else found
        if not isinstance(card, Card):
            return card
        if kind == "Card":
            card = _put(card, name, ODD[number])
        elif kind == "Metric":
            card = replace(card, metrics=(_put(CARD.metrics[0], name, ODD[number]), CARD.metrics[1]))
        elif kind == "Files":
            card = replace(card, files=_put(CARD.files, name, ODD[number]))
        elif kind == "Task":
            card = replace(card, tasks={"t": _put(CARD.tasks["t"], name, ODD[number])})
        elif kind == "question":
            made = QUESTION._replace(**{name: ODD[number]})
            card = _put(card, "questions", _gives((made,)))
        elif kind == "capability":
            owner, field = CAPABILITIES[name]
            value = ODD[number] if number % 2 else _gives(ODD[number])
            card = card.with_capabilities(_put(CARD.capability(owner), field, value))
        elif kind == "gives":
            card = _put(card, name, _gives(ODD[number]))
        else:
            card = replace(card, score=_with(card.score, kind, name, number))
    return card


def _gives(found: Any) -> Callable[..., Any]:
    return lambda *arguments: found


def _put(owner: Any, name: str, value: Any) -> Any:
    return replace(owner, **{name: value})


def _with(score: Any, kind: str, name: str, number: int) -> Any:
    """`score` with one part changed or renamed."""

    def changed(questions: Any, answers: Any) -> Any:
        found = dict(score(questions, answers))
        values = found.pop(name)
        return found | ({name: PARTS[number](values)} if kind == "part" else {NAMES[number]: values})

    return changed


class _Point(EntryPoint):
    """An entry point whose module makes the card."""

    def load(self) -> Any:
        return _changed(json.loads(self.value))


class _Tokenizer:
    def encode(self, text: str) -> list[int]:
        return list(map(ord, text))

    def decode(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))


def _read(path: Path) -> None:
    point = _Point(NAME, path.read_text("utf-8"), registry.GROUP)
    lines = [{"task": "t", "id": f"q{n}"} for n in range(COUNT)]
    predictions, references, details = (path.with_name(name) for name in ("card-p", "card-r", "card-d"))
    if not predictions.exists():
        predictions.write_text("".join(json.dumps(one | {"prediction": "1"}) + "\n" for one in lines))
        more = {"references": ["0"], "category": "c"}
        references.write_text("".join(json.dumps(one | more) + "\n" for one in lines))
    registry.card.cache_clear()
    with mock.patch.object(registry, "_points", lambda: {NAME: point}):
        card = registry.card(NAME)
        sources = Sources(path.parent, path.parent)
        settings = registry.settings(card, {})
        for record in card.load(path.parent) if card.load else ():
            repr(record)
        asked = list(card.questions(sources, settings, 0))
        for question in asked:
            json.dumps(question.row(), default=str)
            card.prompt(question, Asking(ENCODING, _Tokenizer()))
            card.query(question.parts)
        for answer in card.baselines(settings).values():
            json.dumps(answer(QUESTION, 0))
        for one in card.capabilities_of(EvaluationFacts):
            json.dumps(one.facts([], None))
        _scores(card, score_files(NAME, predictions, references, details, samples=20))
        compare_files(NAME, predictions, predictions, references, samples=20)


def _scores(card: Card, result: Mapping[str, Any]) -> None:
    """What was accepted has scores, all finite and within their ranges."""
    json.dumps(result, allow_nan=False)
    if not result["metrics"]:
        raise AssertionError("no scores")
    for row in score_rows(result):
        low, high = card.metric(row["metric"]).range
        if not low - 1e-3 <= row["value"] <= high + 1e-3:
            raise AssertionError(f"{row['metric']} = {row['value']}, beyond {low} to {high}")


def readers() -> list[Reader]:
    """Cards of other packages."""
    return [Reader("own cards", (b"[]",), mutate, f"{NAME}.json", _read, 0.5)]
