"""Accuracy and Matthews correlation against brute force over the confusion table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import estimate
from nightjar.benchmarks.classification.metrics import score
from nightjar.benchmarks.classification.tasks import LABELS, names
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.scores import score as scored
from nightjar.core.errors import NightjarError

BENCHMARK = registry.load_benchmark("classification")


def asked(task: str, gold: list[int]) -> list[Question]:
    return [
        Question("classification", task, str(n), {}, (names(task)[place],), track=task)
        for n, place in enumerate(gold)
    ]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60))
def test_matthews_of_cola_is_that_of_its_confusion_table(pairs: list[tuple[int, int]]) -> None:
    questions = asked("cola", [gold for gold, _ in pairs])
    scores = scored(BENCHMARK, "x", questions, [[names("cola")[guess]] for _, guess in pairs])
    tp, tn, fp, fn = (pairs.count(cell) for cell in ((1, 1), (0, 0), (0, 1), (1, 0)))
    below = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    wanted = 100 * (tp * tn - fp * fn) / below if below else 0.0
    matthews, accuracy = BENCHMARK.metrics
    assert estimate(matthews, scores.of(matthews)) == pytest.approx(wanted, abs=1e-4)
    assert estimate(accuracy, scores.of(accuracy)) == pytest.approx(100 * (tp + tn) / len(pairs), abs=1e-4)


@pytest.mark.parametrize("task", LABELS)
def test_accuracy_counts_an_answer_that_is_no_label_as_wrong(task: str) -> None:
    """The published code counts it as the first label, which would be right here."""
    right = names(task)[0]
    parts = score(asked(task, [0] * 5), [[right], [f" {right.upper()}\n", "later"], ["nothing"], [""], []])
    assert parts["accuracy"].tolist() == [1, 1, 0, 0, 0]
    assert np.isnan(parts["gold"]).all() == (task != "cola")


def test_an_answer_that_is_no_label_lowers_matthews_less_than_the_wrong_label() -> None:
    gold, matthews = [0, 1, 0, 1], BENCHMARK.metrics[0]

    def value(last: str) -> float:
        answers = [["unacceptable"], ["acceptable"], ["unacceptable"], [last]]
        return estimate(matthews, scored(BENCHMARK, "x", asked("cola", gold), answers).of(matthews))

    assert value("unacceptable") < value("?") < value("acceptable") == 100


def test_unknown_references_are_errors() -> None:
    (question,) = asked("mr", [1])
    with pytest.raises(
        NightjarError,
        match="classification mr 0: the reference is 'good', which is no label of mr; labels are",
    ):
        score([question._replace(references=("good",))], [["positive"]])
