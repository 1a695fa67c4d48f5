"""ProtoQA in the report: the labels of its questions, and the systems' scores with and without each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nightjar.benchmarks.aggregate import interval
from nightjar.benchmarks.scores import SystemScores
from nightjar.benchmarks.sections import (
    Evaluated,
    Paragraph,
    ReportColumn,
    ReportRow,
    ReportTable,
    Section,
    Value,
)
from nightjar.statistics import Bootstrap, estimate
from nightjar.statistics.bootstrap import CONFIDENCE
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
    items = []
    for name, meaning in meanings.items():
        having = frozenset(key for key, labels in of.items() if name in labels)
        groups += [(name, having), (f"not {name}", every - having)]
        items.append(f"**{name}**, {len(having):,} of {len(every):,} questions: {meaning}")
    groups.append(("without any label", frozenset(key for key, labels in of.items() if not labels)))
    heading = f"{metric.title} (%)" if metric.scale == 100 else metric.title
    section = Section(
        "labels",
        "Labelled questions",
        (
            Paragraph(
                "Questions are labelled by rules. No question is left out because of a label.", items=items
            ),
            ReportTable(
                (
                    ReportColumn("questions", "text"),
                    ReportColumn("n"),
                    *(ReportColumn(one.system) for one in evaluated.scores),
                ),
                [
                    ReportRow(
                        (title, f"{len(keys):,}", *(_cell(one, metric, keys) for one in evaluated.scores))
                    )
                    for title, keys in groups
                ],
                f"{heading}, with {CONFIDENCE:.0%} intervals over the questions",
            ),
        ),
    )
    return [section]


def _cell(system_scores: SystemScores, metric: Metric, keys: Keys) -> Value | None:
    places = np.array(
        [at for at, key in enumerate(system_scores.keys) if key.instance in keys], dtype=np.int64
    )
    values = system_scores.of(metric, places)
    if not len(values):
        return None
    return Value(metric, estimate(metric, values), *interval(metric, values, Bootstrap()), n=len(values))
