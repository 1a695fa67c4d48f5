"""Sentences for the systems that score above the upper bound, each with its paired difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report import headline
from stages.report.results import BOUND, METRIC_NAMES, Results, Row, interval, signed

Rows = Sequence[Mapping[str, Any]]


def context(scores: Results, comparisons: Rows) -> dict[str, Any]:
    """What the templates show: `bound_notes`, for each track the sentences for its headline, categories and tasks.

    `comparisons` are rows of contracts.COMPARISONS. Scores that are equal as they are shown, to one decimal, count as
    equal.
    """
    return {"bound_notes": {track: _track(scores, track, comparisons) for track in scores.tracks}}


def _track(scores: Results, track: str, comparisons: Rows) -> dict[str, Any]:
    overall = [scores.row(track, "overall", "overall", metric) for metric in headline.METRICS]
    tasks = scores.tasks(track)
    over = sum(bool(_above(row)) for row in tasks)
    return {
        "headline": [note for row in overall for note in _notes(row, track, "overall", comparisons)],
        "categories": [
            note for row in scores.categories(track) for note in _notes(row, track, "category", comparisons)
        ],
        "tasks": f"On {over} of {len(tasks)} tasks another system is above the upper bound. For single tasks no paired "
        "difference is computed: their instances are few."
        if over
        else "",
    }


def _above(row: Row) -> list[str]:
    """The systems whose score, as it is shown, is above that of the bound."""
    if BOUND not in row.lanes:
        return []
    bound = round(row.lanes[BOUND].value, 1)
    return [system for system, lane in row.lanes.items() if round(lane.value, 1) > bound]


def _notes(row: Row, track: str, level: str, comparisons: Rows) -> list[str]:
    title = METRIC_NAMES[row.metric] if level == "overall" else f"{row.title}, {METRIC_NAMES[row.metric]}"
    notes = []
    for system in _above(row):
        cell = {
            "system": BOUND,
            "baseline": system,
            "track": track,
            "level": level,
            "name": row.name,
            "metric": row.metric,
        }
        paired = next((one for one in comparisons if cell.items() <= one.items()), None)
        notes.append(
            f"{title}: {system} ({row.lanes[system].value:.1f}) is above the upper bound, {BOUND} "
            f"({row.lanes[BOUND].value:.1f}): {_difference(paired)}."
        )
    return notes


def _difference(paired: Mapping[str, Any] | None) -> str:
    """The other system minus the bound; the rows of the table have the bound first."""
    if paired is None:
        return "no paired difference was computed"
    low, high = paired["low"], paired["high"]
    turned = {"n": paired["n"], "low": None if high is None else -high, "high": None if low is None else -low}
    seen = "is seen" if paired["moved"] else "is not seen"
    return (
        f"by {signed(-paired['value'])} points ({interval(turned)}) on the same instances, p = {paired['p']:.2g}; "
        f"this difference {seen}"
    )
