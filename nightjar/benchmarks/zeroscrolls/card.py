"""ZeroSCROLLS (Shaham et al. 2023): ten tasks on long documents, each a track, and the mean of their scores."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks.capabilities import Average, Form
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.sections import ReportSections
from nightjar.benchmarks.zeroscrolls.metrics import METRICS, score
from nightjar.benchmarks.zeroscrolls.questions import QUESTION_CARD
from nightjar.benchmarks.zeroscrolls.report import ASKED, sections
from nightjar.benchmarks.zeroscrolls.tasks import TASKS

AVERAGE = "score"

CARD = Card.of(
    QUESTION_CARD,
    metrics=(*METRICS, Metric(AVERAGE, "mean of the ten tasks")),
    score=score,
    capabilities=(
        Average(AVERAGE, tuple(TASKS)),
        Form(ASKED),
        ReportSections(sections),
        read(Path(__file__).with_name("published.toml")),
    ),
)
