"""The scores of Super-NaturalInstructions, and whether ROUGE-L agrees with accuracy (Wang et al. 2022, appendix E)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.aggregate import by_track, category_name
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.scores import SystemScores
from nightjar.statistics.bootstrap import Bootstrap, percent
from nightjar.statistics.statistic import Floats
from nightjar.text import rouge

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
# Fewer points lie on a line by chance.
LEAST_POINTS = 3
# Resampled instances move few points along one line: the interval is narrow because the points are few, not because
# r is certain.
LEAST_POINTS_FOR_AN_INTERVAL = 10
DECIMALS = 4

_BOTH = ("rougeL", "exact_match")


def category_metric(category: str) -> str:
    """The metric that is published for a category, named in any spelling: exact match where answers are labels."""
    return "exact_match" if "_".join(category.lower().split()) in EXACT_MATCH_CATEGORIES else "rougeL"


def score(questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
    """Exact match, ROUGE-1 and ROUGE-L of the first answer of each, each track in its own form (compute_metrics.py).

    A question without an answer scores as the empty text, as published.
    """
    parts = {name: np.zeros(len(questions)) for name in rouge.METRICS}
    for track in sorted({question.track for question in questions}):
        places = [place for place, question in enumerate(questions) if question.track == track]
        texts = [answers[place][0] if answers[place] else "" for place in places]
        track_scores = rouge.score(texts, [questions[place].references for place in places], track)
        for name in rouge.METRICS:
            parts[name][places] = getattr(track_scores, name)
    return parts


def evaluation_facts(
    scores: Sequence[SystemScores], published: float, bootstrap: Bootstrap
) -> dict[str, Any]:
    """The correlation of ROUGE-L with accuracy, and the published one."""
    correlations = correlation(scores, category_metric, bootstrap)
    return {"correlation": correlations, "correlation_published": published}


def correlation(
    scores: Sequence[SystemScores], metric_of: Callable[[str], str], bootstrap: Bootstrap
) -> list[dict[str, Any]]:
    """Pearson's r of ROUGE-L with accuracy over the classification types, one entry a track (appendix E).

    The paper gives 0.970 and names neither its points nor an interval. Here a point is one system on one category
    whose published metric is exact match: its mean ROUGE-L against its share of right answers. So r asks whether
    ROUGE-L would rank systems and categories as accuracy does. The interval resamples the instances of each
    category, the same for all systems, and both metrics together; systems and categories remain as they are, so it
    says nothing about others.

    Each entry: track, points, r, low, high, and the points themselves (`of`: system, category, rougeL and
    exact_match in percent). r is None with fewer than LEAST_POINTS or when a metric has one value everywhere; low and
    high are None with fewer than LEAST_POINTS_FOR_AN_INTERVAL.
    """
    table = []
    for track in sorted({track for one in scores for track in one.tracks()}):
        cells = _cells(scores, metric_of, track)
        points = [
            {"system": system, "category": category}
            | {name: percent(values) for name, values in zip(_BOTH, both, strict=True)}
            for category, systems in cells.items()
            for system, both in systems.items()
        ]
        entry: dict[str, Any] = {"track": track, "points": len(points), "r": None, "low": None, "high": None}
        means = np.array([both.mean(axis=1) for systems in cells.values() for both in systems.values()])
        if len(points) >= LEAST_POINTS and (means.std(axis=0) > 0).all():
            entry["r"] = round(float(np.corrcoef(means.T)[0, 1]), DECIMALS)
            enough = len(points) >= LEAST_POINTS_FOR_AN_INTERVAL
            if enough and (ends := _interval(cells, bootstrap)) is not None:
                entry["low"], entry["high"] = ends
        table.append({**entry, "of": points})
    return table


def _cells(
    scores: Sequence[SystemScores], metric_of: Callable[[str], str], track: str
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """By category and system ROUGE-L and exact match, shape (2, instances), instances in one order throughout."""
    cells: dict[str, dict[str, NDArray[np.float64]]] = {}
    for system_scores in scores:
        places: dict[str, list[int]] = {}
        for place in by_track(system_scores).get(track, []):
            category = system_scores.keys[place].category
            if metric_of(category) == "exact_match":
                places.setdefault(category_name(category), []).append(place)
        for category, members in places.items():
            ordered = sorted(members, key=lambda place: system_scores.keys[place].instance)
            both = np.stack([system_scores.parts[name][ordered] for name in _BOTH])
            cells.setdefault(category, {})[system_scores.system] = both
    return {category: cells[category] for category in sorted(cells)}


def _interval(
    cells: Mapping[str, Mapping[str, NDArray[np.float64]]], bootstrap: Bootstrap
) -> tuple[float, float] | None:
    means: list[NDArray[np.float64]] = []  # a point each, shape (2, samples)
    rng = bootstrap.stream()
    for systems in cells.values():
        n = next(iter(systems.values())).shape[1]
        # How often each instance is drawn says all about a resample, and makes the means one product.
        counts = rng.multinomial(n, np.full(n, 1 / n), size=bootstrap.samples).T / n
        means += [both @ counts for both in systems.values()]
    rouge_means, accuracy_means = np.stack(means, axis=1)  # (points, samples) each
    rouge_means, accuracy_means = (
        rouge_means - rouge_means.mean(axis=0),
        accuracy_means - accuracy_means.mean(axis=0),
    )
    scale = np.sqrt((rouge_means**2).sum(axis=0) * (accuracy_means**2).sum(axis=0))
    usable = scale > 0
    if not usable.any():
        return None
    low, high = bootstrap.ends((rouge_means * accuracy_means).sum(axis=0)[usable] / scale[usable])
    return round(low, DECIMALS), round(high, DECIMALS)
