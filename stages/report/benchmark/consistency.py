"""Label consistency (Guo et al.): how many passages have their question's label, and who answers right with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.classification.published import CONSISTENCY
from nightjar.core.display import number
from nightjar.statistics import Bootstrap, percent, too_few
from stages.report import numbers
from stages.report.plots import axis, svg
from stages.report.plots.plot import Plot
from stages.report.read.rankings import STAGES, Ranked

# Points of a line in the drawing, at most, beside the one of no consistent passage.
POINTS = 8


@dataclass(frozen=True)
class Point:
    """Questions with about the same share of consistent passages, and how many of them were answered right.

    `share` is the greatest that belongs to the point (0 to 1). Numbers in percent; the ends of the interval are None
    for too few questions.
    """

    share: float
    n: int
    right: float
    low: float | None
    high: float | None


def context(card: Card, found: Ranked, order: Mapping[str, int]) -> dict[str, Any] | None:
    """What the templates show; None without rankings."""
    if not found.rows:
        return None
    lines = [
        (system, stage, points(found, stage, system))
        for stage, systems in found.readers.items()
        for system in systems
    ]
    return {
        "depth": found.depth,
        **_table(card, found),
        "plot": plot(
            f"consistency-{card.name}", [(system, order[system], some) for system, _, some in lines]
        ),
        "lines": [
            {
                "system": system,
                "ranking": STAGES[stage],
                "share": f"{100 * it.share:.0f}",
                "n": numbers.count(it.n),
                "right": number(it.right, 1),
                "interval": too_few(it.n)
                if it.low is None or it.high is None
                else f"[{number(it.low, 1)}, {number(it.high, 1)}]",
            }
            for system, stage, some in lines
            for it in some
        ],
    }


def points(found: Ranked, stage: str, system: str) -> list[Point]:
    """The questions of all tasks by the share of consistent passages among those that `system` read, the least first.

    Of at most POINTS equal steps, a share belongs to the one that ends with it or after it; 0 has a point of its own.
    """
    steps = min(found.depth, POINTS)
    bins: dict[int, list[float]] = {}
    for row in found.rows:
        right = found.right[system].get((row["task_id"], row["id"]))
        if row["ranking"] == stage and right is not None:
            bins.setdefault(ceil(round(steps * row["consistent"], 9)), []).append(float(right))
    result = []
    for step, values in sorted(bins.items()):
        low, high = Bootstrap().percent_interval(np.array(values))
        result.append(Point(step / steps, len(values), percent(values), low, high))
    return result


def _table(card: Card, found: Ranked) -> dict[str, Any]:
    """The mean share in percent by track, beside the published ones, in the layout of the paper's tables."""
    shares: dict[tuple[str, str], list[float]] = {}
    for row in found.rows:
        shares.setdefault((row["ranking"], row["task_id"]), []).append(row["consistent"])
    tasks = [task for task in card.tracks if any(name == task for _, name in shares)]
    tasks += sorted({name for _, name in shares} - set(tasks))
    rows: list[dict[str, Any]] = [
        {"system": it.system, "ours": False, "cells": [_cell(it.values.get(task)) for task in tasks]}
        for it in CONSISTENCY
    ]
    for stage, title in STAGES.items():
        means = [
            100 * sum(some) / len(some) if (some := shares.get((stage, task))) else None for task in tasks
        ]
        rows.append({"system": title, "ours": True, "cells": [_cell(mean) for mean in means]})
    counts = [len(shares.get(("retrieve", task), shares.get(("rerank", task), []))) for task in tasks]
    titles = [numbers.initial(card.track_title(task)) for task in tasks]
    return {
        "columns": [
            {"title": title, "n": f"n = {numbers.count(n)}"} for title, n in zip(titles, counts, strict=True)
        ],
        "rows": rows,
        "source": CONSISTENCY[0].source if CONSISTENCY else "",
    }


def _cell(value: float | None) -> str:
    return "–" if value is None else number(value, 1)


def plot(name: str, lines: Sequence[tuple[str, int, Sequence[Point]]]) -> Plot:
    """Right answers by the share of consistent passages: for each system (name, place among all, points) a line.

    Marks show their numbers as tooltips; thin lines are intervals, where there are any.
    """
    size, left, top = 300.0, 52.0, 30.0

    def x(value: float) -> float:
        return left + size * value / 100

    def y(value: float) -> float:
        return top + size * (100 - value) / 100

    body = []
    for tick in axis.ticks(0, 100):
        body.append(svg.line(x(tick), top, x(tick), top + size))
        body.append(svg.text(x(tick), top + size + 17, axis.label(tick), 11, "middle", "muted"))
        body.append(svg.line(left, y(tick), left + size, y(tick)))
        body.append(svg.text(left - 8, y(tick) + 4, axis.label(tick), 11, "end", "muted"))
    heading = "passages with the label of the question (%)"
    body.append(svg.text(left + size / 2, top + size + 36, heading, 12, "middle", "muted"))
    body.append(svg.text(left, top - 10, "right answers (%)", 12, fill="muted"))
    for place, (system, mark, some) in enumerate(lines):
        for it in some:
            if it.low is not None and it.high is not None:
                at = x(100 * it.share)
                body.append(svg.line(at, y(it.low), at, y(it.high), svg.colour(mark), 1.2))
        if some:
            drawn = " L".join(f"{svg.n(x(100 * it.share))} {svg.n(y(it.right))}" for it in some)
            body.append(svg.path(f"M{drawn}", svg.colour(mark), 1.6))
        for it in some:
            title = f"{system}: {number(it.right, 1)}% of {it.n} questions, {100 * it.share:.0f}% consistent"
            body.append(svg.mark(x(100 * it.share), y(it.right), mark, title))
        at = top + 14 + 22 * place
        body.append(svg.mark(left + size + 26, at, mark))
        body.append(svg.text(left + size + 38, at + 4, system, 12))
    label = "Right answers by the share of passages with the label of the question"
    columns = ("system", "consistent (%)", "n", "right (%)", "low", "high")
    rows = [
        (system, 100 * it.share, it.n, it.right, it.low, it.high) for system, _, some in lines for it in some
    ]
    return Plot(name, svg.drawing(left + size + 190, top + size + 46, label, body), columns, rows)
