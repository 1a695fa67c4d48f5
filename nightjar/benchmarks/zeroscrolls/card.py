"""ZeroSCROLLS (Shaham et al. 2023): ten tasks on long documents, each a track, and the mean of their scores."""

from __future__ import annotations

from pathlib import Path

from nightjar.benchmarks.capabilities import Average, Form, Query
from nightjar.benchmarks.card import Card, Metric, Task
from nightjar.benchmarks.papers import read
from nightjar.benchmarks.sections import ReportSections
from nightjar.benchmarks.submission import Submission
from nightjar.benchmarks.zeroscrolls.formats import load
from nightjar.benchmarks.zeroscrolls.metrics import METRICS, score
from nightjar.benchmarks.zeroscrolls.prompts import highlighted
from nightjar.benchmarks.zeroscrolls.questions import Settings, baselines, prompt, query, questions
from nightjar.benchmarks.zeroscrolls.report import ASKED, sections
from nightjar.benchmarks.zeroscrolls.tasks import NAME, TASKS

AVERAGE = "score"

CARD = Card(
    name=NAME,
    version=1,
    title="ZeroSCROLLS",
    source="Shaham et al. 2023, arXiv 2305.14196",
    datasets=(NAME,),
    metrics=(*METRICS, Metric(AVERAGE, "mean of the ten tasks")),
    questions=questions,
    prompt=prompt,
    score=score,
    settings=Settings,
    load=load,
    tasks={name: Task(task.title, max_new_tokens=task.reserved) for name, task in TASKS.items()},
    baselines=baselines,
    capabilities=(
        Query(query),
        Average(AVERAGE, tuple(TASKS)),
        Form(ASKED),
        ReportSections(sections),
        Submission(
            ("Task", "ID", "Prediction"),
            tuple(TASKS),
            "https://zero.scrolls-benchmark.com/submission",
            "!@#$%^&*()",
            lambda task, answer: highlighted(TASKS[task], answer),
        ),
        read(Path(__file__).with_name("published.toml")),
    ),
)
