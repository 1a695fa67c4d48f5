"""Labels of questions: how many have each, and the systems' scores with and without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nightjar.benchmarks.aggregate import interval
from nightjar.benchmarks.capabilities import Labels
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.scores import SystemScores
from nightjar.statistics import Bootstrap, estimate
from stages.report import numbers
from stages.report.benchmark.clusters import Clustered, Key
from stages.report.read.results import Results

# Title, and whether a question with these labels belongs to the row.
Group = tuple[str, frozenset[Key]]


def context(card: Card, found: Clustered, results: Results) -> dict[str, Any] | None:
    """What the templates show of the questions of the first track; None for a card without labels.

    A row for all questions, two for each label (with it and without), and one for the questions without any. The
    intervals of equal sets of questions are equal, and those of all questions are the ones of contracts.SCORES.
    """
    labels = card.capability(Labels)
    if not labels or not results.tracks:
        return None
    track = results.tracks[0]
    metric = results.headline(track)[0].metric
    groups = _groups(labels, found, track)
    return {
        "metric": numbers.heading(metric),
        "systems": [one.system for one in found.scores],
        "total": numbers.count(len(groups[0][1])),
        "labels": [
            {"name": name, "meaning": meaning, "count": numbers.count(len(keys))}
            for name, meaning in labels.meanings.items()
            for title, keys in groups
            if title == name
        ],
        "rows": [
            {
                "title": title,
                "n": numbers.count(len(keys)),
                "cells": [_cell(one, metric, keys) for one in found.scores],
            }
            for title, keys in groups
        ],
    }


def _groups(labels: Labels, found: Clustered, track: str) -> Sequence[Group]:
    asked = (one for one in found.questions if one.track == track)
    of = {one.key: frozenset(one.parts.get("labels", ())) for one in asked}
    every = frozenset(of)
    groups: list[Group] = [("all questions", every)]
    for name in labels.meanings:
        having = frozenset(key for key, some in of.items() if name in some)
        groups += [(name, having), (f"not {name}", every - having)]
    return [*groups, ("without any label", frozenset(key for key, some in of.items() if not some))]


def _cell(one: SystemScores, metric: Metric, keys: frozenset[Key]) -> Mapping[str, str]:
    places = np.array([at for at, key in enumerate(one.keys) if key.instance in keys], dtype=np.int64)
    values = one.of(metric, places)
    if not len(values):
        return {"value": "–", "interval": ""}
    low, high = interval(metric, values, Bootstrap())
    return {
        "value": numbers.value(metric, estimate(metric, values)),
        "interval": numbers.interval(metric, low, high, len(values)),
    }
