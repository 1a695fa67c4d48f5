"""PGRA's eight classification tasks and FEVER (Guo et al. 2023): each task a track of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.classification.metrics import score
from nightjar.benchmarks.classification.questions import ClassificationQuestions
from nightjar.benchmarks.classification.report import sections
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.sections import Evaluated, Section
from nightjar.statistics import matthews
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats


class Classification(ClassificationQuestions, Benchmark):
    """PGRA's classification tasks, scored by accuracy, and CoLA by Matthews correlation."""

    # The main metric of a track is the first that it has: only CoLA has the parts of the first one.
    metrics = (
        Metric("matthews", "Matthews correlation", ("predicted", "gold"), matthews, range=(-100.0, 100.0)),
        Metric("accuracy", "accuracy", right=True),
    )
    papers = read(Path(__file__).with_name("published.toml"))

    def score(self, questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """Compare the first answers with the labels."""
        return score(questions, answers)

    def report_sections(self, evaluated: Evaluated) -> Sequence[Section]:
        """Make the sections of classification tasks."""
        return sections(evaluated)


BENCHMARK = Classification()
