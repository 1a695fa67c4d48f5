"""Super-NaturalInstructions (Wang et al. 2022): unseen tasks, ROUGE-L and exact match."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks.capabilities import EvaluationFacts, Tracks
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.sections import ReportSections
from nightjar.benchmarks.supernatinst.metrics import category_metric, evaluation_facts, score, sections
from nightjar.benchmarks.supernatinst.questions import QUESTION_CARD

TRACKS = {"default": "English track", "xlingual": "cross-lingual track"}

CARD = Card.of(
    QUESTION_CARD,
    metrics=(
        Metric("rougeL", "ROUGE-L"),
        Metric("exact_match", "exact match", right=True),
        Metric("rouge1", "ROUGE-1"),
    ),
    score=score,
    capabilities=(
        Tracks(TRACKS, ("overall", "category", "task"), category_metric),
        EvaluationFacts(evaluation_facts),
        ReportSections(sections),
        read(Path(__file__).with_name("published.toml")),
    ),
)
