"""A made benchmark: two tasks that are tracks, a mean that is better when lower, and a ratio of two parts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType

import numpy as np
import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.capabilities import Floats
from nightjar.benchmarks.card import Card, Metric, Task
from nightjar.benchmarks.folders import OWN
from nightjar.benchmarks.question import Asking, Question, Sources
from nightjar.statistics import Statistic

NAME = "made"


def questions(sources: Sources, settings: object, seed: int) -> Iterator[Question]:
    """Four questions of each task."""
    for task in ("sums", "words"):
        for number in range(4):
            parts = {"question": f"{task} {number}?"}
            yield Question(NAME, task, f"{task}-{number}", parts, (str(number),), track=task)


def prompt(question: Question, asking: Asking) -> str:
    return str(question.parts["question"])


def score(asked: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
    """`errors` is how far an answer is from the reference; `hits` of `tries` characters are right."""
    given = ["".join(answer[:1]) for answer in answers]
    return {
        "errors": np.array(
            [abs(len(a) - len(q.references[0])) for a, q in zip(given, asked, strict=True)], float
        ),
        "hits": np.array([float(a == q.references[0]) for a, q in zip(given, asked, strict=True)]),
        "tries": np.array([float(max(1, len(a))) for a in given]),
    }


ratio = Statistic("ratio", 2, lambda values: values, lambda sums, n: sums[:, 0] / sums[:, 1])


CARD = Card(
    name=NAME,
    version=1,
    title="Made",
    source="nowhere",
    datasets=(),
    metrics=(
        Metric("ratio", "Ratio", ("hits", "tries"), ratio),
        Metric("errors", "Errors", range=(0, 1000), scale=1.0, higher_is_better=False),
    ),
    questions=questions,
    prompt=prompt,
    score=score,
    tasks={"sums": Task(), "words": Task()},
)


@pytest.fixture()
def made_card(monkeypatch: pytest.MonkeyPatch) -> Card:
    """The card, registered."""
    monkeypatch.setattr(registry, "names", lambda: [NAME])
    monkeypatch.setattr(registry, "card", lambda name: {NAME: CARD}[name])
    return CARD


def register(patch: pytest.MonkeyPatch, name: str, module: ModuleType) -> None:
    """Let a module that holds a CARD be one of Nightjar's own benchmarks."""
    patch.setitem(OWN, name, module.__name__)
    patch.setitem(sys.modules, f"{module.__name__}.card", module)
    asks = ModuleType("questions")
    asks.QUESTION_CARD = module.CARD  # type: ignore[attr-defined]
    patch.setitem(sys.modules, f"{module.__name__}.questions", asks)
