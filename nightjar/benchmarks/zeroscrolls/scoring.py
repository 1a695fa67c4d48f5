"""ZeroSCROLLS (Shaham et al. 2023): ten tasks on long documents, each a track, and the mean of their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nightjar.benchmarks.benchmark import Average, Benchmark
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.sections import Evaluated, Section
from nightjar.benchmarks.zeroscrolls.metrics import METRICS, score
from nightjar.benchmarks.zeroscrolls.questions import ZeroScrollsQuestions
from nightjar.benchmarks.zeroscrolls.report import ASKED, sections
from nightjar.benchmarks.zeroscrolls.tasks import TASKS
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats

AVERAGE = "score"


class ZeroScrolls(ZeroScrollsQuestions, Benchmark):
    """ZeroSCROLLS, with the mean of the ten tasks."""

    metrics = (*METRICS, Metric(AVERAGE, "mean of the ten tasks"))
    average = Average(AVERAGE, tuple(TASKS))
    form_metric = ASKED
    papers = read(Path(__file__).with_name("published.toml"))

    def score(self, questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """Compute the published metric of each task, and figures of the form of answers."""
        return score(questions, answers)

    def report_sections(self, evaluated: Evaluated) -> Sequence[Section]:
        """Make the sections about prompts and the form of answers."""
        return sections(evaluated)


BENCHMARK = ZeroScrolls()
