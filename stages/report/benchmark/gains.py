"""What the report shows of one benchmark beside its scores: gains per task, and the correlation of two metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.core.display import number
from nightjar.statistics import too_few
from stages.report import numbers
from stages.report.plots import curves
from stages.report.read.results import Rows, category_title


def per_task(card: Card, improvements: Rows, order: Mapping[str, int]) -> list[dict[str, Any]]:
    """For each track the gains of each task over its best baseline, as a drawing and as a table.

    `improvements` are rows of contracts.IMPROVEMENTS; `order` is the place of each system among all.
    """
    blocks = []
    for track in sorted({row["track"] for row in improvements}):
        rows = [row for row in improvements if row["track"] == track]
        systems = list(dict.fromkeys(row["system"] for row in rows))
        metric = card.metric(rows[0]["metric"])
        panels = [(name, order[name], [row for row in rows if row["system"] == name]) for name in systems]
        blocks.append(
            {
                "title": numbers.initial(card.track_title(track)),
                "metric": metric.title,
                "plot": curves.gains(f"gains-{card.name}-{track}", panels, metric),
                "systems": systems,
                "rows": [
                    {
                        "task": card.task(task).title or task,
                        "category": category_title(of[0]["category"]),
                        "baseline": of[0]["heuristic"],
                        "n": of[0]["n"],
                        "few": too_few(of[0]["n"]) if all(row["low"] is None for row in of) else "",
                        "cells": [_cell(of, system, card) for system in systems],
                    }
                    for task, of in _by_task(rows).items()
                ],
            }
        )
    return blocks


def correlation(card: Card, facts: Mapping[str, Any], order: Mapping[str, int]) -> dict[str, Any] | None:
    """The correlation of two metrics that the card's `details` has left in the facts of the stage evaluate.

    `correlation` is a list of entries, one a track: track, points, r, low, high and `of`, the points, which have
    system, category and the two metrics. `correlation_published` is the r of the paper. None without points.
    """
    entries = [entry for entry in facts.get("correlation", ()) if entry["of"]]
    if not entries:
        return None
    points = [point for entry in entries for point in entry["of"]]
    y, x = (metric for metric in card.metrics if metric.name in points[0])
    published = facts.get("correlation_published")
    return {
        "x": x.title,
        "y": y.title,
        "published": "" if published is None else number(published, 3),
        "plot": curves.correlation(f"correlation-{card.name}", points, order, x, y),
        "tracks": [
            entry
            | {name: entry[name] and number(entry[name], 3) for name in ("r", "low", "high")}
            | {"track": numbers.initial(card.track_title(entry["track"]))}
            for entry in entries
        ],
    }


def _by_task(rows: Rows) -> dict[str, Rows]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["task_id"], []).append(row)
    return {task: found[task] for task in sorted(found)}


def _cell(rows: Rows, system: str, card: Card) -> dict[str, str] | None:
    row = next((row for row in rows if row["system"] == system), None)
    if row is None:
        return None
    metric = card.metric(row["metric"])
    ends = numbers.signed_interval(metric, row["low"], row["high"], row["n"])
    return {"value": numbers.signed(metric, row["value"]), "interval": ends}
