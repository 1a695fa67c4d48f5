"""Drawings of relations: gains per task, ROUGE-L against accuracy, losses on the dev side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.report import svg

_WIDTH = 920.0


def gains(panels: Sequence[tuple[str, int, Sequence[Mapping[str, Any]]]]) -> str:
    """For each system (name, its place among all, its tasks) a bar a task, largest gain first.

    Bars are percentage points of ROUGE-L over the better heuristic, on one scale for all; thin lines are
    intervals. A bar tells its task when pointed at.
    """
    panel, left, top, gap = 170.0, 52.0, 26.0, 16.0
    values = [float(row[end]) for _, _, rows in panels for row in rows for end in ("low", "high")]
    # To the next ten on both sides, and zero always on it.
    high, low = 10 * -(-max([*values, 10.0]) // 10), 10 * (min([*values, 0.0]) // 10)
    inside = panel - top - gap
    body = []
    for place, (system, number, rows) in enumerate(panels):
        offset = place * panel + top

        def y(value: float, offset: float = offset) -> float:
            return offset + inside * (high - value) / (high - low)

        better = sum(row["value"] > 0 for row in rows)
        body.append(svg.mark(left + 5, offset - 13, number))
        body.append(svg.text(left + 16, offset - 9, system, 13, bold=True))
        told = f"better than both heuristics on {better} of {len(rows)} tasks"
        body.append(svg.text(left + 30 + 8.8 * len(system), offset - 9, told, 12, fill="muted"))
        for tick in sorted({low, 0.0, high}):
            body.append(svg.line(left, y(tick), _WIDTH, y(tick), "muted" if tick == 0 else "line"))
            body.append(
                svg.text(
                    left - 8,
                    y(tick) + 4,
                    f"{tick:+g}".replace("-", "−").replace("+0", "0"),
                    11,
                    "end",
                    "muted",
                )
            )
        ordered = sorted(rows, key=lambda row: (-row["value"], row["task_id"]))
        step = (_WIDTH - left) / max(len(ordered), 12)
        for at, row in enumerate(ordered):
            x, value = left + step * (at + 0.5), row["value"]
            title = f"{row['task_id']}: {value:+.1f} ({row['low']:+.1f} to {row['high']:+.1f})"
            edge = max(y(0) - y(abs(value)), 0.6)
            body.append(
                svg.bar(x - step * 0.36, y(max(value, 0)), step * 0.72, edge, svg.colour(number), title)
            )
            body.append(svg.line(x, y(row["high"]), x, y(row["low"]), "ink", 0.8))
    return svg.drawing(_WIDTH, panel * len(panels), "Gain of every task over the better heuristic", body)


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
    width, height, left, top = 620.0, 250.0, 52.0, 16.0
    inside, floor = width - left - 130, height - 40
    values = [loss for _, _, pairs, _ in lines for _, loss in pairs]
    least, most = min(values), max(values)
    span = (most - least) or 1.0
    last = max(step for _, _, pairs, _ in lines for step, _ in pairs) or 1

    def x(step: float) -> float:
        return left + inside * step / last

    def y(loss: float) -> float:
        return floor - (floor - top) * (loss - least) / span

    body = []
    for tick in (least, (least + most) / 2, most) if most > least else (least,):
        body.append(svg.line(left, y(tick), left + inside, y(tick)))
        body.append(svg.text(left - 8, y(tick) + 4, f"{tick:.2f}", 11, "end", "muted"))
    steps = sorted({0, last // 2, last})
    body += [svg.text(x(tick), floor + 17, str(tick), 11, "middle", "muted") for tick in steps]
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
