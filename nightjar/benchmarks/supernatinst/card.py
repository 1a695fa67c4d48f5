"""Super-NaturalInstructions (Wang et al. 2022, facts/1): unseen tasks, ROUGE-L and exact match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nightjar.benchmarks.card import Card, Files, Floats, Metric, Question
from nightjar.benchmarks.supernatinst import agreement
from nightjar.benchmarks.supernatinst.baselines import Settings, baselines
from nightjar.benchmarks.supernatinst.questions import DATASET, NAME, prompt, questions
from nightjar.benchmarks.text import metrics

# The categories whose answers are labels, in the published form of their names (facts 1.9).
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


def category_metric(category: str) -> str:
    """The metric that is published for a category, named in any spelling: exact match where answers are labels."""
    return "exact_match" if "_".join(category.lower().split()) in EXACT_MATCH_CATEGORIES else "rougeL"


def score(questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
    """Exact match, ROUGE-1 and ROUGE-L of the first answer of each, each track in its own form (facts 1.9).

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
        Metric("exact_match", "exact match"),
        Metric("rouge1", "ROUGE-1"),
    ),
    questions=questions,
    prompt=prompt,
    score=score,
    files=Files(
        prediction='write {"id": "...", "prediction": "..."}',
        reference='write {"id": "...", "references": ["..."], "task_id": "...", "task_category": "...", '
        '"track": "default"}',
        task="task_id",
        category="task_category",
        by_task=False,
        shown=("input", "definition"),
    ),
    query=lambda parts: str(parts["input"]),
    settings=Settings,
    tracks={"default": "English track", "xlingual": "cross-lingual track"},
    metric_of=category_metric,
    baselines=baselines,
    details=lambda scores, bootstrap: {
        "correlation": agreement.correlation(scores, category_metric, bootstrap)
    },
)
