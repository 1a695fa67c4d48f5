"""Gains per task over the best baseline, as a drawing and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.sections import (
    Block,
    Cell,
    Column,
    Fold,
    Gains,
    Noted,
    Row,
    Section,
    Table,
    Text,
    Value,
    initial,
)
from nightjar.statistics import too_few
from nightjar.statistics.bootstrap import CONFIDENCE
from stages.report.read.results import Rows, category_title


def section(card: Card, improvements: Rows) -> Section | None:
    """For each track the gains of each task over its best baseline, of rows of contracts.IMPROVEMENTS; None if none."""
    if not improvements:
        return None
    tracks = sorted({row["track"] for row in improvements})
    metric = card.metric(next(row["metric"] for row in improvements if row["track"] == tracks[0]))
    blocks: list[Block] = [
        Text(
            f"{metric.title} of each task minus that of the best baseline there. Tasks with the largest mean gain come "
            f"first; lines are {CONFIDENCE:.0%} intervals over the task's instances, where there are enough."
        )
    ]
    for track in tracks:
        by_system: dict[str, list[Mapping[str, Any]]] = {}
        by_task: dict[str, list[Mapping[str, Any]]] = {}
        for row in improvements:
            if row["track"] == track:
                by_system.setdefault(row["system"], []).append(row)
                by_task.setdefault(row["task_id"], []).append(row)
        named = (Column(name, "text") for name in ("task", "category", "best baseline"))
        heads = (*named, Column("n"), *map(Column, by_system))
        table = Table(heads, [_row(card, task, by_task[task], list(by_system)) for task in sorted(by_task)])
        metric = card.metric(next(iter(by_task.values()))[0]["metric"])
        blocks += [
            Text(f"**{initial(card.track_title(track))}**"),
            Gains(f"gains-{card.name}-{track}", metric, by_system),
            Fold(f"The same as a table ({len(by_task)} tasks)", [table]),
        ]
    return Section("gains", "Gains per task", blocks)


def _row(card: Card, task: str, rows: Rows, systems: Sequence[str]) -> Row:
    first = rows[0]
    few = all(row["low"] is None for row in rows)
    by_system = {row["system"]: row for row in rows}
    cells: list[Cell] = []
    for system in systems:
        row = by_system.get(system)
        n = 0 if few or not row else row["n"]
        metric = card.metric(first["metric"])
        ends = (row["value"], row["low"], row["high"]) if row else ()
        cells.append(Value(metric, *ends, n=n, signed=True) if ends else None)
    n = Noted(f"{first['n']}", too_few(first["n"]) if few else "")
    category = category_title(first["category"])
    return Row((card.task(task).title or task, category, first["heuristic"], n, *cells))
