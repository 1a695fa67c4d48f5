"""A made benchmark: two tasks that are tracks, a mean that is better when lower, and a ratio of two parts."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.folders import OWN
from nightjar.benchmarks.question import Asking, Question, Sources
from nightjar.benchmarks.question_set import QuestionSet, Task
from nightjar.statistics import Statistic
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats

NAME = "made"
AnyBenchmark = TypeVar("AnyBenchmark", bound=QuestionSet)

ratio = Statistic("ratio", 2, lambda values: values, lambda sums, n: sums[:, 0] / sums[:, 1])


class Made(Benchmark):
    """Four questions of each of two tasks."""

    name = NAME
    version = 1
    title = "Made"
    source = "nowhere"
    datasets = ()
    metrics = (
        Metric("ratio", "Ratio", ("hits", "tries"), ratio),
        Metric("errors", "Errors", range=(0, 1000), scale=1.0, higher_is_better=False),
    )
    tasks = {"sums": Task(), "words": Task()}  # noqa: RUF012

    def questions(self, sources: Sources, settings: object, seed: int) -> Iterator[Question]:
        """Make four questions of each task."""
        for task in ("sums", "words"):
            for number in range(4):
                parts = {"question": f"{task} {number}?"}
                yield Question(NAME, task, f"{task}-{number}", parts, (str(number),), track=task)

    def prompt(self, question: Question, asking: Asking) -> str:
        """Ask the question alone."""
        return str(question.parts["question"])

    def score(self, asked: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """`errors` is how far an answer is from the reference; `hits` of `tries` characters are right."""
        given = ["".join(answer[:1]) for answer in answers]
        return {
            "errors": np.array(
                [abs(len(a) - len(q.references[0])) for a, q in zip(given, asked, strict=True)], float
            ),
            "hits": np.array([float(a == q.references[0]) for a, q in zip(given, asked, strict=True)]),
            "tries": np.array([float(max(1, len(a))) for a in given]),
        }


BENCHMARK = Made()


def changed(benchmark: AnyBenchmark, **attributes: Any) -> AnyBenchmark:
    """Copy a benchmark with other attributes and methods; a function gets no `self`."""
    members = {
        name: staticmethod(value) if callable(value) and not isinstance(value, type) else value
        for name, value in attributes.items()
    }
    result = copy.copy(benchmark)
    vars(result).update({name: value for name, value in attributes.items() if name in vars(result)})
    result.__class__ = type(type(benchmark).__name__, (type(benchmark),), members)
    return result


@pytest.fixture()
def made_benchmark(monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """The benchmark, registered."""
    monkeypatch.setattr(registry, "names", lambda: [NAME])
    monkeypatch.setattr(registry, "load_benchmark", lambda name: {NAME: BENCHMARK}[name])
    return BENCHMARK


def register(patch: pytest.MonkeyPatch, name: str, module: ModuleType) -> None:
    """Let a module that holds a BENCHMARK be one of Nightjar's own benchmarks."""
    patch.setitem(OWN, name, module.__name__)
    patch.setitem(sys.modules, f"{module.__name__}.scoring", module)
    question_module = ModuleType("questions")
    question_module.QUESTION_SET = module.BENCHMARK  # type: ignore[attr-defined]
    patch.setitem(sys.modules, f"{module.__name__}.questions", question_module)
