"""Super-NaturalInstructions (Wang et al. 2022): unseen tasks, ROUGE-L and exact match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nightjar.benchmarks.capabilities import EvaluationFacts, Floats, Query, Tracks
from nightjar.benchmarks.card import Card, Files, Metric
from nightjar.benchmarks.papers import Collection, Figure, Papers, Published
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.sections import ReportSections
from nightjar.benchmarks.supernatinst import agreement
from nightjar.benchmarks.supernatinst.baselines import Settings, baselines
from nightjar.benchmarks.supernatinst.questions import DATASET, NAME, prompt, questions
from nightjar.benchmarks.text import metrics

# The categories whose answers are labels, in the published form of their names (Tk-Instruct's compute_metrics.py).
EXACT_MATCH_CATEGORIES = frozenset(
    {
        "textual_entailment",
        "cause_effect_classification",
        "coreference_resolution",
        "dialogue_act_recognition",
        "answerability_classification",
        "word_analogy",
    }
)
_TRACKS = {"default": "English track", "xlingual": "cross-lingual track"}
# Paper, table 3: English track, cross-lingual track.
_TABLE_3 = {
    "Copying instance input": (14.2, 5.4),
    "Copying demo output": (28.5, 50.3),
    "T5-LM 11B": (30.2, None),
    "T0 11B": (32.3, None),
    "GPT-3 175B": (45.0, 51.3),
    "InstructGPT 175B": (52.1, 52.8),
    "mTk-Instruct 13B": (57.1, 66.1),
    "Tk-Instruct 11B": (62.0, None),
    "Supervised upper bound": (74.3, 94.0),
}
# Paper, table 2.
_TABLE_2 = (
    Figure("tasks", "tasks", 1616),
    Figure("task_types", "task types", 76),
    Figure("languages", "languages", 55),
    Figure("domains", "domains", 33),
    Figure("domains_in_full", "domains and their subdomains", None),
    Figure("non_english_tasks", "non-English tasks", 576),
    Figure("definition_words", "words of a definition, mean", 56.6, 1),
    Figure("positive_examples", "positive examples of a task, mean", 2.8, 1),
    Figure("negative_examples", "negative examples of a task, mean", 2.4, 1),
    Figure("instances_per_task", "instances of a task, mean", 3106.0, 1),
)
# Over the categories whose answers are labels (Wang et al. 2022).
_PUBLISHED_CORRELATION = 0.970


def category_metric(category: str) -> str:
    """The metric that is published for a category, named in any spelling: exact match where answers are labels."""
    return "exact_match" if "_".join(category.lower().split()) in EXACT_MATCH_CATEGORIES else "rougeL"


def score(questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
    """Exact match, ROUGE-1 and ROUGE-L of the first answer of each, each track in its own form (compute_metrics.py).

    A question without an answer scores as the empty text, as published.
    """
    parts = {name: np.zeros(len(questions)) for name in metrics.METRICS}
    for track in sorted({question.track for question in questions}):
        places = [place for place, question in enumerate(questions) if question.track == track]
        texts = [answers[place][0] if answers[place] else "" for place in places]
        found = metrics.score(texts, [questions[place].references for place in places], track)
        for name in metrics.METRICS:
            parts[name][places] = getattr(found, name)
    return parts


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
    baselines=baselines,
    capabilities=(
        Tracks(_TRACKS, ("overall", "category", "task"), category_metric),
        Query(lambda parts: str(parts["input"])),
        EvaluationFacts(
            lambda scores, bootstrap: {
                "correlation": agreement.correlation(scores, category_metric, bootstrap),
                "correlation_published": _PUBLISHED_CORRELATION,
            }
        ),
        ReportSections(agreement.sections),
        Papers(
            (
                *(
                    Published(
                        system,
                        {track: value for track, value in zip(_TRACKS, values, strict=True) if value},
                        "Wang et al. 2022, table 3",
                    )
                    for system, values in _TABLE_3.items()
                ),
                Published(
                    "Tk-Instruct 3B", {"default": 54.33}, "README of Tk-Instruct, on resampled test instances"
                ),
            ),
            collection=Collection(
                "Wang et al. 2022, table 2",
                _TABLE_2,
                "A task is English if its input and output languages are English alone. A task of several languages, "
                "types or domains counts for each. A domain is the part before the first arrow: "
                '"Natural Science -> School Science Textbooks" is Natural Science. The paper does not say how it '
                "counts domains. Words are separated by white space. Instances are those that ingest accepts.",
            ),
        ),
    ),
)
