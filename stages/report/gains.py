"""What the scores say of each other: paired differences, gains per task, ROUGE-L against accuracy, dev losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from nightjar.core import contracts, tables
from stages.report import curves, headline
from stages.report.facts import Node
from stages.report.results import BOUND, CONTROL, METRIC_NAMES, TRACK_NAMES, category_metric

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Relations:
    """Rows of contracts.COMPARISONS and IMPROVEMENTS; both empty where an evaluation has none."""

    comparisons: Rows = ()
    improvements: Rows = ()


def read(path: Path) -> Relations:
    """The relations in `path`, an artifact of the stage evaluate. Raises NightjarError if it is not there."""
    return Relations(
        tables.read_rows(path, contracts.COMPARISONS), tables.read_rows(path, contracts.IMPROVEMENTS)
    )


def context(
    relations: Relations, nodes: Iterable[Node], systems: Sequence[str], evaluation: Mapping[str, Any]
) -> dict[str, Any]:
    """What the templates show of them; the drawings of `drawings` are among it."""
    drawn = drawings(relations, nodes, systems, evaluation)
    # The bound with the other systems is for the notes (bounds.py).
    compared = [row for row in relations.comparisons if row["system"] != BOUND or row["baseline"] == CONTROL]

    def plot(file: str) -> dict[str, Any] | None:
        return {"file": file, "svg": Markup(drawn[file])} if file in drawn else None  # noqa: S704 - svg.py escapes

    return {
        "comparisons": [
            _told(row)
            for row in sorted(compared, key=lambda row: row["track"])
            if row["level"] == "overall" and row["metric"] in headline.METRICS
        ],
        "category_comparisons": [
            _told(row) | {"category": row["name"].replace("_", " ").capitalize()}
            for row in compared
            if row["level"] == "category" and row["metric"] == category_metric(row["name"])
        ],
        "gains": [
            {
                "title": TRACK_NAMES.get(track, track).capitalize(),
                "plot": plot(f"gains-{track}.svg"),
                "systems": _systems(relations, track),
                "rows": _gains(relations, track),
            }
            for track in _tracks(relations)
        ],
        "correlation": [
            {**entry, "track": TRACK_NAMES.get(entry["track"], entry["track"])}
            for entry in evaluation.get("correlation", [])
            if entry["points"]
        ],
        "correlation_plot": plot("correlation.svg"),
        "dev_plot": plot("dev-losses.svg"),
    }


def drawings(
    relations: Relations, nodes: Iterable[Node], systems: Sequence[str], evaluation: Mapping[str, Any]
) -> dict[str, str]:
    """The drawings by file name: gains of each track, ROUGE-L against accuracy, losses on the dev side."""
    number = {system: at for at, system in enumerate(systems)}
    found = {}
    for track in _tracks(relations):
        panels = [
            (
                system,
                number.get(system, 0),
                [row for row in relations.improvements if _is(row, system, track)],
            )
            for system in _systems(relations, track)
        ]
        found[f"gains-{track}.svg"] = curves.gains(panels)
    points = [one for entry in evaluation.get("correlation", []) for one in entry["of"]]
    if points:
        found["correlation.svg"] = curves.correlation(points, systems)
    lines = [
        (node.item, number.get(node.item, at), _losses(node), node.details.get("chosen_step"))
        for at, node in enumerate(one for one in nodes if one.stage == "train")
        if _losses(node)
    ]
    if lines:
        found["dev-losses.svg"] = curves.losses(lines)
    return found


def _losses(node: Node) -> list[tuple[int, float]]:
    return [(int(one["step"]), float(one["loss"])) for one in node.details.get("dev_losses") or []]


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "metric": METRIC_NAMES[row["metric"]],
        "track": TRACK_NAMES.get(row["track"], row["track"]),
        "p": f"{row['p']:.4f}" if row["p"] >= 0.0001 else "< 0.0001",
    }


def _is(row: Mapping[str, Any], system: str, track: str) -> bool:
    return bool(row["system"] == system and row["track"] == track)


def _tracks(relations: Relations) -> list[str]:
    return sorted({row["track"] for row in relations.improvements})


def _systems(relations: Relations, track: str) -> list[str]:
    return list(dict.fromkeys(row["system"] for row in relations.improvements if row["track"] == track))


def _gains(relations: Relations, track: str) -> list[dict[str, Any]]:
    """A line a task: which heuristic is the better one, and every system's gain over it."""
    by_task: dict[str, list[Mapping[str, Any]]] = {}
    for row in relations.improvements:
        if row["track"] == track:
            by_task.setdefault(row["task_id"], []).append(row)
    systems = _systems(relations, track)
    return [
        {
            "task": task,
            "category": rows[0]["category"].replace("_", " "),
            "heuristic": rows[0]["heuristic"],
            "n": rows[0]["n"],
            "cells": [next((row for row in rows if row["system"] == system), None) for system in systems],
        }
        for task, rows in sorted(by_task.items())
    ]
