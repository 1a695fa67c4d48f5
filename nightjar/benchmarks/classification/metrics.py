"""The metrics of classification (Guo et al. 2023), which score an answer by the label that it names.

An answer that names no label is wrong. In Matthews correlation it is a label of its own, which is never right. The
published code counts it as the first label instead, which can make it right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nightjar.benchmarks.classification.tasks import NAME, names, number
from nightjar.benchmarks.question import Question
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import quote_short
from nightjar.statistics.statistic import Floats

# The only task that is published by Matthews correlation.
MATTHEWS = "cola"
NO_LABEL = -1


def score(questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
    """The parts of the metrics from the first answer of each question, arrays of shape (questions,).

    `accuracy`: 1.0 or 0.0. `predicted` and `gold`: the numbers of the labels, NaN except for CoLA; predicted is
    NO_LABEL where the answer names none, or there is no answer. Raises NightjarError for a question whose reference is
    none of its labels.
    """
    table = np.full((len(questions), 3), np.nan)
    for place, (question, question_answers) in enumerate(zip(questions, answers, strict=True)):
        gold = _gold(question)
        named_label = number(question.task_id, question_answers[0]) if question_answers else None
        predicted = NO_LABEL if named_label is None else named_label
        table[place, 0] = predicted == gold
        if question.task_id == MATTHEWS:
            table[place, 1:] = predicted, gold
    return dict(zip(("accuracy", "predicted", "gold"), table.T, strict=True))


def _gold(question: Question) -> int:
    task, reference = question.task_id, question.references[0]
    gold = number(task, reference)
    if gold is None:
        what = f"the reference is {quote_short(reference)}, which is no label of {task}"
        raise NightjarError(what, f"{NAME} {task} {question.id}", f"labels are {', '.join(names(task))}")
    return gold
