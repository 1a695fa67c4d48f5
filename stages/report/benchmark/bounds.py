"""Sentences for the systems that score above the upper bound, each with its paired difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nightjar.benchmarks.card import Metric
from nightjar.benchmarks.sections import Text
from nightjar.statistics import too_few
from stages.report import numbers
from stages.report.benchmark.differences import find
from stages.report.read.results import BOUND, Results, Row, Rows


def notes(results: Results, comparisons: Rows) -> dict[str, dict[str, Any]]:
    """For each track the sentences for its headline, categories and tasks.

    `comparisons` are rows of contracts.COMPARISONS. Scores that are equal as they are shown count as equal.
    """
    return {track: _track(results, track, comparisons) for track in results.tracks}


def blocks(notes: Sequence[str]) -> list[Text]:
    """The sentences with what they mean, as a part of a section; empty without any."""
    told = (
        f"{BOUND} is trained on other instances of the test tasks, so the highest score is expected of it. Where "
        "another system is above it, its score is no upper bound:"
    )
    return [Text(told, note=True, items=notes)] if notes else []


def _track(results: Results, track: str, comparisons: Rows) -> dict[str, Any]:
    tasks = results.tasks(track)
    over = sum(bool(_above(row)) for row in tasks)
    return {
        "headline": [
            note for row in results.headline(track) for note in _notes(row, track, "overall", comparisons)
        ],
        "categories": [
            note for row in results.categories(track) for note in _notes(row, track, "category", comparisons)
        ],
        "tasks": f"On {over} of {len(tasks)} tasks another system is above the upper bound. No paired difference is "
        "computed for single tasks, because they have few instances."
        if over
        else "",
    }


def _above(row: Row) -> list[str]:
    """The systems that are better than the bound by the values as they are shown."""
    return [system for system in row.lanes if BOUND in row.lanes and row.above(system, BOUND)]


def _notes(row: Row, track: str, level: str, comparisons: Rows) -> list[str]:
    title = row.metric.title if level == "overall" else f"{row.title}, {row.metric.title}"
    found = []
    for system in _above(row):
        paired = find(comparisons, system, BOUND, track, level, row.name, row.metric.name)
        ours, bound = (numbers.value(row.metric, row.lanes[one].value) for one in (system, BOUND))
        found.append(
            f"{title}: {system} ({ours}) is above the upper bound, {BOUND} ({bound}): "
            f"{_difference(row.metric, paired)}."
        )
    return found


def _difference(metric: Metric, paired: Mapping[str, Any] | None) -> str:
    if paired is None:
        return "no paired difference was computed"
    value = numbers.signed(metric, paired["value"])
    if paired["p"] is None:
        return f"the paired difference is {value}, {too_few(paired['n'])}"
    ends = numbers.signed_interval(metric, paired["low"], paired["high"], paired["n"])
    p = numbers.p(paired["p"], paired["n"])
    seen = "seen" if paired["moved"] else "not seen"
    return f"the paired difference is {value} {ends}, p {p if p.startswith('<') else f'= {p}'}, {seen}"
