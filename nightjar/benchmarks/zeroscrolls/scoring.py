"""The parts of the metrics of each instance (public metric code), and what beside the score describes an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nightjar.benchmarks.capabilities import Floats
from nightjar.benchmarks.card import Metric
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.zeroscrolls.formats import as_asked, forgiving
from nightjar.benchmarks.zeroscrolls.metrics import (
    ROUGE,
    accuracy,
    best,
    concordance,
    exponential_similarity,
    f1,
    rouge,
)
from nightjar.benchmarks.zeroscrolls.prompts import highlighted
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import shown
from nightjar.statistics import geometric_mean
from nightjar.statistics.statistic import OfSums

_METRICS: Mapping[str, Callable[[str, str], float]] = {
    "f1": f1,
    "accuracy": accuracy,
    "exponential_similarity": exponential_similarity,
    "concordance": concordance,
}


def _same(values: Floats) -> Floats:
    return values


def _ratio(sums: Floats, n: int) -> Floats:
    return np.divide(sums[:, 0], sums[:, 1], out=np.zeros(len(sums)), where=sums[:, 1] > 0)


_LENGTH = OfSums("ratio of sums", 2, _same, _ratio)
# The first metric that a task has is its score. Figures of the form come last.
METRICS = (
    Metric("rouge", "ROUGE, geometric mean of the corpus means", ROUGE, geometric_mean),
    *(Metric(name, name.replace("_", " ").replace("f1", "F1")) for name in _METRICS),
    Metric("rouge_per_instance", "ROUGE, mean of the geometric means of instances"),
    Metric("forgiving", "score that forgives the form", judged=False),
    Metric("asked_form", "answers in the form asked for", judged=False),
    Metric(
        "length",
        "words of the answers in percent of the references'",
        ("words", "reference_words"),
        _LENGTH,
        range=(0.0, float("inf")),
        judged=False,
    ),
)
PARTS = tuple(dict.fromkeys(part for metric in METRICS for part in metric.parts))


def score(questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
    """The parts of the metrics from the first answer of each question, arrays of shape (questions,).

    A question without an answer scores as an empty one, and of an answer in Claude's form what it highlights. NaN where
    a part does not apply to the task, and for a question without references. Raises NightjarError for a question of an
    unknown task.
    """
    found = {part: np.full(len(questions), np.nan) for part in PARTS}
    for place, (question, given) in enumerate(zip(questions, answers, strict=True)):
        if question.task_id not in TASKS:
            what = f"no task {shown(question.task_id)}"
            raise NightjarError(what, NAME, f"tasks are {', '.join(TASKS)}")
        if question.references:
            answer = highlighted(TASKS[question.task_id], given[0] if given else "")
            parts = _parts(question.task_id, answer, question.references)
            for part, value in parts.items():
                found[part][place] = value
    return found


def _parts(task_id: str, answer: str, references: Sequence[str]) -> dict[str, float]:
    task = TASKS[task_id]
    lengths = [len(reference.split()) for reference in references]
    parts: dict[str, float] = {
        "asked_form": float(as_asked(task_id, answer, references)),
        "words": float(len(answer.split())),
        "reference_words": sum(lengths) / len(lengths),
    }
    if task.kind == "rouge":
        values = rouge(answer, references)
        together = float(np.prod(values)) ** (1 / 3)
        return parts | dict(zip(ROUGE, values, strict=True)) | {"rouge_per_instance": together}
    parts[task.kind] = best(_METRICS[task.kind], answer, references)
    return parts | {"forgiving": forgiving(task, answer, references)}
