"""ProtoQA in the report: the labels of its questions, and the systems' scores with and without each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nightjar.benchmarks.aggregate import interval
from nightjar.benchmarks.scores import SystemScores
from nightjar.benchmarks.sections import Evaluated, Section, Value
from nightjar.statistics import Bootstrap, estimate
from nightjar.statistics.metric import Metric

Keys = frozenset[tuple[str, str]]


def labelled_questions(meanings: Mapping[str, str], evaluated: Evaluated) -> list[Section]:
    """The questions of the first track by their labels, `labels` of their parts; no section without scores.

    `meanings` says what each label means. A row for all questions, two for each label (with it and without), and one
    for the questions without any. The intervals of equal sets of questions are equal, and those of all questions are
    the ones of contracts.SCORES.
    """
    if not evaluated.tracks:
        return []
    track = evaluated.tracks[0]
    rows = evaluated.of_track(track)
    metric = next(one for one in evaluated.card.metrics if any(name == one.name for name, _ in rows))
    of = {
        one.key: frozenset(one.parts.get("labels", ())) for one in evaluated.questions if one.track == track
    }
    every = frozenset(of)
    groups: list[tuple[str, Keys]] = [("all questions", every)]
    labels = []
    for name, meaning in meanings.items():
        having = frozenset(key for key, names in of.items() if name in names)
        groups += [(name, having), (f"not {name}", every - having)]
        labels.append((name, meaning, len(having)))
    groups.append(("without any label", frozenset(key for key, names in of.items() if not names)))
    values = {
        "labels": labels,
        "total": len(every),
        "systems": [one.system for one in evaluated.scores],
        "rows": [
            [title, len(keys), *(_cell(one, metric, keys) for one in evaluated.scores)]
            for title, keys in groups
        ],
        "metric": f"{metric.title} (%)" if metric.scale == 100 else metric.title,
    }
    template = Path(__file__).with_name("labels.html.j2")
    return [Section("labels", "Labelled questions", template, values)]


def _cell(system_scores: SystemScores, metric: Metric, keys: Keys) -> Value | None:
    places = np.array(
        [at for at, key in enumerate(system_scores.keys) if key.instance in keys], dtype=np.int64
    )
    values = system_scores.of(metric, places)
    if not len(values):
        return None
    return Value(metric, estimate(metric, values), *interval(metric, values, Bootstrap()), n=len(values))
