"""PGRA's eight classification tasks and FEVER (Guo et al. 2023): each task a track of its own."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks.capabilities import FileEncodings, Query, Reading, Reranking, Training, Turns
from nightjar.benchmarks.card import Card, Choice, Metric, Task
from nightjar.benchmarks.classification.formats import load
from nightjar.benchmarks.classification.metrics import score
from nightjar.benchmarks.classification.prompts import choice, reader_question
from nightjar.benchmarks.classification.prompts import query as reranker_query
from nightjar.benchmarks.classification.questions import (
    Settings,
    demonstrated,
    inputs,
    prefixes,
    prompt,
    query,
    questions,
    targets,
    training,
    turns,
)
from nightjar.benchmarks.classification.report import sections
from nightjar.benchmarks.classification.tasks import LABELS, NAME, TITLES, names
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.sections import ReportSections
from nightjar.statistics import matthews

TASKS = {
    task: Task(
        TITLES[task], "choose", choices=tuple(Choice(name, choice(task, name)) for name in names(task))
    )
    for task in LABELS
}

CARD = Card(
    name=NAME,
    version=1,
    title="PGRA's classification tasks",
    source="Guo et al. 2023, arXiv 2305.17653",
    datasets=(NAME,),
    # The main metric of a track is the first that it has: only CoLA has the parts of the first one.
    metrics=(
        Metric("matthews", "Matthews correlation", ("predicted", "gold"), matthews, range=(-100.0, 100.0)),
        Metric("accuracy", "accuracy", right=True),
    ),
    questions=questions,
    prompt=prompt,
    score=score,
    settings=Settings,
    load=load,
    tasks=TASKS,
    capabilities=(
        Query(query),
        FileEncodings(load),
        Training(training),
        Turns(turns),
        Reranking(reranker_query, prefixes),
        # The form of the paper, and the one that the published code really has (PGRA's src/data.py).
        Reading(("intended", "published"), inputs, demonstrated, targets, reader_question),
        read(Path(__file__).with_name("published.toml")),
        ReportSections(sections),
    ),
)
