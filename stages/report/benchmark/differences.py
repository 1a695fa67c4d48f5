"""Paired differences of systems: which are shown, and what calls and evidence add."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.card import Metric
from nightjar.statistics import too_few
from stages.report import numbers
from stages.report.read.results import BOUND, CONTROL, Results, Rows, category_title

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
    """What the templates show of the differences between `models`, of which the first is the untuned one.

    `comparisons` over all instances and `category_comparisons` are those of the paper's own system from every other
    system; if it is not among the models, those from the untuned model and from the control, the bound from the control
    alone; of all pairs, if the benchmark has no control either. `other_comparisons` are the other pairs over all
    instances.
    """
    order = {track: at for at, track in enumerate(results.tracks)}
    between = [row for row in rows if {row["system"], row["baseline"]} <= set(models)]
    between.sort(key=lambda row: order.get(row["track"], len(order)))
    main: list[Mapping[str, Any]] = []
    others: list[Mapping[str, Any]] = []
    for row in between:
        pair = _main(row, models, results.card.papers.system)
        (main if pair else others).append(pair or row)
    overall = {
        (track, "overall", row.name, row.metric.name)
        for track in results.tracks
        for row in results.headline(track)
    }
    by_category = {
        (track, "category", row.name, row.metric.name)
        for track in results.tracks
        for row in results.categories(track)
    }
    return {
        "comparisons": _cells(results, main, overall),
        "other_comparisons": _cells(results, others, overall),
        "category_comparisons": _cells(results, main, by_category),
    }


def _main(row: Mapping[str, Any], models: Sequence[str], compared: str) -> Mapping[str, Any] | None:
    """The row of the system that is compared, or from one that others are compared with; None for other pairs."""
    if compared in models:
        row = _turned(row) if row["baseline"] == compared else row
        return row if row["system"] == compared else None
    if CONTROL not in models:
        return row
    references = (models[0], CONTROL)
    if row["system"] in references and row["baseline"] not in references:
        row = _turned(row)
    if row["baseline"] not in references or (row["system"] == BOUND and row["baseline"] != CONTROL):
        return None
    return row


def _cells(results: Results, rows: Rows, wanted: Container[tuple[str, ...]]) -> list[dict[str, Any]]:
    """The cells of the rows whose track, level, name and metric are wanted."""
    return [
        texts(row, results.card.metric(row["metric"]))
        | {"track": results.card.track_title(row["track"]), "category": category_title(row["name"])}
        for row in rows
        if (row["track"], row["level"], row["name"], row["metric"]) in wanted
    ]


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
                    "track": numbers.initial(results.card.track_title(track)),
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
    return found and texts(found, metric)


def texts(row: Mapping[str, Any], metric: Metric) -> dict[str, Any]:
    """The cells of a difference, as texts."""
    return {
        "system": row["system"],
        "baseline": row["baseline"],
        "metric": numbers.heading(metric),
        "n": numbers.count(row["n"]),
        "value": numbers.signed(metric, row["value"]),
        "interval": numbers.signed_interval(metric, row["low"], row["high"], row["n"]),
        "p": numbers.p(row["p"], row["n"]),
        "seen": bool(row["moved"]),
        "few": too_few(row["n"]) if row["p"] is None else "",
        **{name: numbers.count(row[name]) for name in ("better", "worse", "equal")},
    }
