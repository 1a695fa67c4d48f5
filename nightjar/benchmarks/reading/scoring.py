"""Reading comprehension (Rajpurkar et al. 2016 and 2018): questions with a passage, in the form of SQuAD's files.

It evaluates any model, and its training questions train the extractive readers that the tool QA reads with. The scores
are those of SQuAD 2.0: an answer is right, or shares words, after `normalised`; no answer is right where a question has
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.question import DEFAULT_TRACK, Question
from nightjar.benchmarks.reading.questions import ReadingQuestions
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats
from nightjar.text.f1 import f1, normalised


class ReadingComprehension(ReadingQuestions, Benchmark):
    """SQuAD's questions, scored by exact match and F1."""

    metrics = (Metric("exact_match", "exact match", right=True), Metric("f1", "F1"))
    tracks = {DEFAULT_TRACK: "questions with a passage"}  # noqa: RUF012

    def score(self, questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """Compute exact match and F1 of the first answer, from 0 to 1, each with the reference that gives most.

        An empty answer is right for a question without an answer; no answer is wrong.
        """
        pairs = [
            (question.references if texts else (), "".join(texts[:1]))
            for question, texts in zip(questions, answers, strict=True)
        ]
        exact = [
            any(normalised(one) == normalised(answer) for one in references) for references, answer in pairs
        ]
        shared = [max((_f1(answer, one) for one in references), default=0.0) for references, answer in pairs]
        return {"exact_match": np.array(exact, dtype=float), "f1": np.array(shared, dtype=float)}


def _f1(answer: str, reference: str) -> float:
    """Compute F1 of words; where one of the two has no word, 1 if neither has one (SQuAD 2.0)."""
    answer_words, reference_words = normalised(answer), normalised(reference)
    if answer_words and reference_words:
        return f1(answer, reference)
    return float(answer_words == reference_words)


BENCHMARK = ReadingComprehension()
