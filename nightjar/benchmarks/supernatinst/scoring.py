"""Super-NaturalInstructions (Wang et al. 2022): unseen tasks, ROUGE-L and exact match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.scores import SystemScores
from nightjar.benchmarks.sections import Evaluated, Section
from nightjar.benchmarks.supernatinst.metrics import category_metric, evaluation_facts, score
from nightjar.benchmarks.supernatinst.questions import SuperNatInstQuestions
from nightjar.benchmarks.supernatinst.report import sections
from nightjar.statistics.bootstrap import Bootstrap
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats

TRACKS = {"default": "English track", "xlingual": "cross-lingual track"}


class SuperNatInst(SuperNatInstQuestions, Benchmark):
    """Super-NaturalInstructions, with scores by category and task."""

    metrics = (
        Metric("rougeL", "ROUGE-L"),
        Metric("exact_match", "exact match", right=True),
        Metric("rouge1", "ROUGE-1"),
    )
    tracks = TRACKS
    levels = ("overall", "category", "task")
    papers = read(Path(__file__).with_name("published.toml"))

    def score(self, questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """Compute ROUGE and exact match of the first answers."""
        return score(questions, answers)

    def main_metric(self, category: str = "") -> Metric:
        """Return exact match for categories whose answers are labels, else ROUGE-L."""
        return self.metric(category_metric(category)) if category else self.metrics[0]

    def evaluation_facts(self, scores: Sequence[SystemScores], bootstrap: Bootstrap) -> dict[str, Any]:
        """Compute the correlation of ROUGE-L with accuracy."""
        published = self.papers.numbers["correlation"]["rougeL"]["exact_match"]
        return evaluation_facts(scores, published, bootstrap)

    def report_sections(self, evaluated: Evaluated) -> Sequence[Section]:
        """Make the sections about the correlation."""
        return sections(evaluated)


BENCHMARK = SuperNatInst()
