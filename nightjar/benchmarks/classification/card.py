"""PGRA's eight classification tasks and FEVER (Guo et al. 2023): each task a track of its own."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.classification.metrics import score
from nightjar.benchmarks.classification.questions import QUESTION_CARD
from nightjar.benchmarks.classification.report import sections
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.sections import ReportSections
from nightjar.statistics import matthews

CARD = Card.of(
    QUESTION_CARD,
    # The main metric of a track is the first that it has: only CoLA has the parts of the first one.
    metrics=(
        Metric("matthews", "Matthews correlation", ("predicted", "gold"), matthews, range=(-100.0, 100.0)),
        Metric("accuracy", "accuracy", right=True),
    ),
    score=score,
    capabilities=(read(Path(__file__).with_name("published.toml")), ReportSections(sections)),
)
