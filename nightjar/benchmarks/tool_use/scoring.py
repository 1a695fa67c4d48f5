"""Toolformer's evaluations (Schick et al. 2023, section 4.2): each task a track of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.tool_use.metrics import score
from nightjar.benchmarks.tool_use.questions import ToolUseQuestions
from nightjar.statistics import perplexity
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats


class ToolUse(ToolUseQuestions, Benchmark):
    """Toolformer's evaluations, scored by accuracy, and running text by perplexity."""

    metrics = (
        Metric("accuracy", "accuracy", right=True),
        Metric(
            "perplexity",
            "perplexity",
            ("nll", "tokens"),
            perplexity,
            range=(1.0, float("inf")),
            scale=1.0,
            higher_is_better=False,
        ),
    )
    papers = read(Path(__file__).with_name("published.toml"))

    def score(self, questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
        """Compare the first answers with the references by the rules of each task."""
        return score(questions, answers)


BENCHMARK = ToolUse()
