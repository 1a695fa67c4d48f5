"""Toolformer's evaluations (Schick et al. 2023, section 4.2): each task a track of its own."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.tool_use.metrics import score
from nightjar.benchmarks.tool_use.questions import QUESTION_CARD
from nightjar.statistics import perplexity

CARD = Card.of(
    QUESTION_CARD,
    metrics=(
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
    ),
    score=score,
    capabilities=(read(Path(__file__).with_name("published.toml")),),
)
