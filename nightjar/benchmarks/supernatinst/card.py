"""Super-NaturalInstructions (Wang et al. 2022): unseen tasks, ROUGE-L and exact match."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks.capabilities import EvaluationFacts, Query, Tracks, Turns
from nightjar.benchmarks.card import Card, Files, Metric
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.sections import ReportSections
from nightjar.benchmarks.supernatinst.metrics import category_metric, evaluation_facts, score, sections
from nightjar.benchmarks.supernatinst.questions import (
    DATASET,
    NAME,
    Settings,
    baselines,
    load,
    prompt,
    questions,
    turns,
)

TRACKS = {"default": "English track", "xlingual": "cross-lingual track"}

CARD = Card(
    name=NAME,
    version=1,
    title="Super-NaturalInstructions",
    source="Wang et al. 2022, arXiv 2204.07705",
    datasets=(DATASET,),
    metrics=(
        Metric("rougeL", "ROUGE-L"),
        Metric("exact_match", "exact match", right=True),
        Metric("rouge1", "ROUGE-1"),
    ),
    questions=questions,
    prompt=prompt,
    score=score,
    files=Files(task="task_id", category="task_category", by_task=False, shown=("input", "definition")),
    settings=Settings,
    load=load,
    baselines=baselines,
    capabilities=(
        Tracks(TRACKS, ("overall", "category", "task"), category_metric),
        Query(lambda parts: str(parts["input"])),
        Turns(turns),
        EvaluationFacts(evaluation_facts),
        ReportSections(sections),
        read(Path(__file__).with_name("published.toml")),
    ),
)
