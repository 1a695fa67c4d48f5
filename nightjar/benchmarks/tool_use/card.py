"""Toolformer's evaluations (Schick et al. 2023, section 4.2): each task a track of its own."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks.capabilities import Query
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.tool_use.formats import load
from nightjar.benchmarks.tool_use.metrics import score
from nightjar.benchmarks.tool_use.questions import Settings, prompt, query, questions, shown
from nightjar.benchmarks.tool_use.tasks import NAME, TASKS
from nightjar.statistics import perplexity

CARD = Card(
    name=NAME,
    version=2,
    title="Toolformer's evaluations",
    source="Schick et al. 2023, arXiv 2302.04761",
    datasets=(NAME,),
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
    questions=questions,
    prompt=prompt,
    score=score,
    settings=Settings,
    load=load,
    tasks=TASKS,
    capabilities=(Query(query, shown), read(Path(__file__).with_name("published.toml"))),
)
