"""Paired differences of systems: which are shown, and what calls and evidence add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nightjar.benchmarks.card import Metric
from stages.report import numbers
from stages.report.results import BOUND, CONTROL, Results, Rows, category_title

# Recipes that differ only in what they add to the control, and what that is.
ARMS = {
    CONTROL: "neither",
    "calls_only": "tool calls",
    "evidence_only": "evidence",
    "combined": "tool calls and evidence",
}
_HALVES = ("calls_only", "evidence_only")


def find(
    rows: Rows, system: str, baseline: str, track: str, level: str, name: str, metric: str
) -> dict[str, Any] | None:
    """The row of contracts.COMPARISONS of system - baseline, from either direction; None if there is none."""
    cell = {"track": track, "level": level, "name": name, "metric": metric}
    for row in rows:
        if cell.items() <= row.items():
            if (row["system"], row["baseline"]) == (system, baseline):
                return dict(row)
            if (row["system"], row["baseline"]) == (baseline, system):
                return _turned(row)
    return None


def _turned(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same difference the other way round."""
    low, high = (None if row[end] is None else -row[end] for end in ("high", "low"))
    return {
        **row,
        "system": row["baseline"],
        "baseline": row["system"],
        "value": -row["value"],
        "low": low,
        "high": high,
        "better": row["worse"],
        "worse": row["better"],
    }


def context(results: Results, rows: Rows, models: Sequence[str]) -> dict[str, Any]:
    """What the templates show: `comparisons` over all instances and `category_comparisons`, of `models` alone.

    The bound is compared with the control; with other systems only in the notes of bounds.py.
    """
    card, titles = results.card, results.card.track_title
    shown = [row for row in rows if {row["system"], row["baseline"]} <= set(models)]
    if CONTROL in models:
        shown = [row for row in shown if BOUND not in (row["system"], row["baseline"]) or CONTROL in
                 (row["system"], row["baseline"])]  # fmt: skip
    headline = {track: {row.metric.name for row in results.headline(track)} for track in results.tracks}
    of_categories = {
        (track, row.name): row.metric.name for track in results.tracks for row in results.categories(track)
    }
    order = {track: at for at, track in enumerate(results.tracks)}
    shown = sorted(shown, key=lambda row: order.get(row["track"], len(order)))
    overall = [
        row for row in shown if row["level"] == "overall" and row["metric"] in headline.get(row["track"], ())
    ]
    by_category = [
        row
        for row in shown
        if row["level"] == "category" and row["metric"] == of_categories.get((row["track"], row["name"]))
    ]
    return {
        "comparisons": [
            _texts(row, card.metric(row["metric"])) | {"track": titles(row["track"])} for row in overall
        ],
        "category_comparisons": [
            _texts(row, card.metric(row["metric"]))
            | {"track": titles(row["track"]), "category": category_title(row["name"])}
            for row in by_category
        ],
    }


def arms(results: Results, rows: Rows) -> list[dict[str, Any]]:
    """What helps: for each track and headline metric the ARMS with their differences from the control.

    Empty unless one of the two halves was evaluated beside the control.
    """
    blocks = []
    for track in results.tracks:
        for row in results.headline(track):
            present = [system for system in ARMS if system in row.lanes]
            if CONTROL not in present or not set(_HALVES) & set(present):
                continue
            blocks.append(
                {
                    "track": results.card.track_title(track),
                    "metric": numbers.heading(row.metric),
                    "n": row.n,
                    "rows": [
                        {
                            "system": system,
                            "adds": ARMS[system],
                            "value": numbers.value(row.metric, row.lanes[system].value),
                            "difference": _difference(rows, system, track, row.metric),
                        }
                        for system in present
                    ],
                }
            )
    return blocks


def _difference(rows: Rows, system: str, track: str, metric: Metric) -> dict[str, Any] | None:
    found = find(rows, system, CONTROL, track, "overall", "overall", metric.name)
    return found and _texts(found, metric)


def _texts(row: Mapping[str, Any], metric: Metric) -> dict[str, Any]:
    """The cells of a difference, as texts."""
    return {
        "system": row["system"],
        "baseline": row["baseline"],
        "metric": numbers.heading(metric),
        "n": numbers.count(row["n"]),
        "value": numbers.signed(metric, row["value"]),
        "interval": numbers.signed_interval(metric, row["low"], row["high"]),
        "p": numbers.p(row["p"]),
        "seen": bool(row["moved"]),
        **{name: numbers.count(row[name]) for name in ("better", "worse", "equal")},
    }
