"""Question sets by the name of their benchmark: what the stages load that make, answer or read questions."""

from __future__ import annotations

from importlib import import_module

from nightjar.benchmarks.folders import OWN
from nightjar.benchmarks.question_set import QuestionSet

# Benchmarks of other packages and of task files are one class: they are loaded with their scores.
REGISTRY = "nightjar.benchmarks.registry"


def load_question_set(name: str) -> QuestionSet:
    """Return the question set of that benchmark."""
    if name in OWN:
        question_set: QuestionSet = import_module(f"{OWN[name]}.questions").QUESTION_SET
        return question_set
    benchmark: QuestionSet = import_module(REGISTRY).load_benchmark(name)
    return benchmark


def benchmark_names() -> list[str]:
    """Return the names of all benchmarks, Nightjar's own first."""
    names: list[str] = import_module(REGISTRY).names()
    return names
