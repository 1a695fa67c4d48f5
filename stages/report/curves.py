"""Drawings of relations: gains per task, ROUGE-L against accuracy, losses on the dev side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report import axis, svg

_WIDTH = 920.0


def gains(panels: Sequence[tuple[str, int, Sequence[Mapping[str, Any]]]]) -> str:
    """For each system (name, its place among all, its tasks) a panel with a bar a task, all panels in one order.

    Tasks with the largest mean gain come first. Bars are percentage points of ROUGE-L over the better heuristic, on one
    scale for all; thin lines are intervals, where a task has one. A bar shows its task and values when pointed at.
    """
    left, gap, top, lane = 250.0, 26.0, 44.0, 15.0
    by_task: dict[str, list[float]] = {}
    for _, _, rows in panels:
        for row in rows:
            by_task.setdefault(row["task_id"], []).append(row["value"])
    order = sorted(by_task, key=lambda task: (-sum(by_task[task]) / len(by_task[task]), task))
    height = {task: top + lane * at for at, task in enumerate(order)}
    bottom = top + lane * len(order)
    values = [end for _, _, rows in panels for row in rows for end in _ends(row)]
    marks = axis.around(min([*values, 0.0]), max([*values, 10.0]), 4)
    low, high = marks[0], marks[-1]
    panel = (_WIDTH - left - gap * (len(panels) - 1)) / max(len(panels), 1) - 14
    body = [svg.text(left - 10, height[task] + 11, shortened(task, 40), 10.5, "end") for task in order]
    for place, (system, number, rows) in enumerate(panels):
        start = left + place * (panel + 14 + gap)

        def x(value: float, start: float = start) -> float:
            return start + panel * (value - low) / (high - low)

        better = sum(row["value"] > 0 for row in rows)
        body.append(svg.mark(start + 5, 10, number))
        body.append(svg.text(start + 16, 14, system, 12.5, bold=True))
        body.append(svg.text(start, 32, f"better on {better} of {len(rows)}", 11, fill="muted"))
        for tick in marks:
            body.append(svg.line(x(tick), top - 3, x(tick), bottom, "muted" if tick == 0 else "line"))
            body.append(svg.text(x(tick), bottom + 15, axis.label(tick), 10.5, "middle", "muted"))
        for row in sorted(rows, key=lambda row: height[row["task_id"]]):
            y, value = height[row["task_id"]] + 2, row["value"]
            first, last = _ends(row)
            between = "" if row["low"] is None else f" ({first:+.1f} to {last:+.1f})"
            title = f"{row['task_id']}: {value:+.1f}{between}"
            length = max(x(abs(value)) - x(0), 0.6)
            body.append(svg.bar(x(min(value, 0)), y, length, lane - 4, svg.colour(number), title))
            middle = y + (lane - 4) / 2
            body.append(svg.line(x(first), middle, x(last), middle, "ink", 0.8))
    body.append(svg.text(left, bottom + 32, "points of ROUGE-L over the better heuristic", 11, fill="muted"))
    return svg.drawing(_WIDTH, bottom + 40, "Gain of every task over the better heuristic", body)


def _ends(row: Mapping[str, Any]) -> tuple[float, float]:
    """The ends of a row's interval; its value twice where it has none."""
    return (row["value"], row["value"]) if row["low"] is None else (row["low"], row["high"])


def shortened(text: str, most: int) -> str:
    """At most `most` characters of `text`, the last an ellipsis where some are missing."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def correlation(points: Sequence[Mapping[str, Any]], systems: Sequence[str]) -> str:
    """A mark a system and category: its share of right answers across, its ROUGE-L upwards, both 0 to 100."""
    size, left, top = 300.0, 48.0, 14.0
    body = []

    def x(value: float) -> float:
        return left + size * value / 100

    def y(value: float) -> float:
        return top + size * (100 - value) / 100

    for tick in range(0, 101, 20):
        body.append(svg.line(x(tick), y(0), x(tick), y(100)))
        body.append(svg.line(x(0), y(tick), x(100), y(tick)))
        body.append(svg.text(x(tick), y(0) + 17, str(tick), 11, "middle", "muted"))
        body.append(svg.text(left - 8, y(tick) + 4, str(tick), 11, "end", "muted"))
    body.append(svg.line(x(0), y(0), x(100), y(100), "muted", 1, "4 3"))
    body.append(svg.text(x(50), y(0) + 36, "exact match", 12, "middle", "muted"))
    body.append(svg.text(left, top - 3, "ROUGE-L", 12, fill="muted"))
    present = [system for system in systems if any(point["system"] == system for point in points)]
    for place, system in enumerate(present):
        at = top + 20 + 22 * place
        body.append(svg.mark(x(100) + 30, at, systems.index(system)))
        body.append(svg.text(x(100) + 42, at + 4, system, 12))
    for point in points:
        title = f"{point['system']}, {point['category']}: {point['exact_match']:.1f}, {point['rougeL']:.1f}"
        number = systems.index(point["system"]) if point["system"] in systems else 0
        body.append(svg.mark(x(point["exact_match"]), y(point["rougeL"]), number, title, 4))
    return svg.drawing(left + size + 190, top + size + 44, "ROUGE-L against exact match", body)


def losses(lines: Sequence[tuple[str, int, Sequence[tuple[int, float]], int | None]]) -> str:
    """For each recipe (name, its place among the systems, (step, loss) pairs, the chosen step) a line."""
    width, height, left, top = 620.0, 260.0, 52.0, 22.0
    inside, floor = width - left - 130, height - 40
    values = [loss for _, _, pairs, _ in lines for _, loss in pairs]
    marks = axis.around(min(values), max(values), 5)
    least, span = marks[0], marks[-1] - marks[0]
    last = max(step for _, _, pairs, _ in lines for step, _ in pairs) or 1

    def x(step: float) -> float:
        return left + inside * step / last

    def y(loss: float) -> float:
        return floor - (floor - top) * (loss - least) / span

    body = []
    for tick in marks:
        body.append(svg.line(left, y(tick), left + inside, y(tick)))
        body.append(svg.text(left - 8, y(tick) + 4, axis.label(tick), 11, "end", "muted"))
    steps = axis.ticks(0, last, whole=True)
    body += [svg.text(x(tick), floor + 17, axis.label(tick), 11, "middle", "muted") for tick in steps]
    body.append(svg.text(left, top - 5, "loss", 11, fill="muted"))
    body.append(svg.text(left + inside / 2, floor + 34, "step", 11, "middle", "muted"))
    for place, (name, number, pairs, chosen) in enumerate(lines):
        drawn = " L".join(f"{svg.n(x(step))} {svg.n(y(loss))}" for step, loss in pairs)
        body.append(svg.path(f"M{drawn}", svg.colour(number), 2))
        body += [
            svg.mark(x(step), y(loss), number, f"{name}, step {step}: {loss:.3f} (chosen)")
            for step, loss in pairs
            if step == chosen
        ]
        body.append(svg.mark(left + inside + 22, top + 10 + 22 * place, number))
        body.append(svg.text(left + inside + 34, top + 14 + 22 * place, name, 12))
    return svg.drawing(width, height, "Loss on the dev side by step", body)
