"""Drawings of relations: gains per task, points, losses on the dev split, and histograms of sampled calls."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from nightjar.benchmarks.card import Metric
from nightjar.benchmarks.sections import Points
from stages.report import numbers
from stages.report.plots import svg
from stages.report.plots.svg import Plot

# Of the gains: the drawing, unless it has many panels, and a panel, which has the name of a system above it.
_WIDTH, _LEAST_PANEL = 920.0, 150.0


def gains(name: str, panels: Sequence[tuple[str, int, Sequence[Mapping[str, Any]]]], metric: Metric) -> Plot:
    """For each system (name, its place among all, its tasks) a panel with a bar a task, all panels in one order.

    Tasks with the largest mean gain come first. Bars are gains over the best baseline in the unit of the metric, on one
    scale for all; thin lines are intervals, where there are any. A bar shows its task and values as a tooltip.
    """
    left, gap, top, lane = 250.0, 26.0, 44.0, 15.0
    order = _by_mean_gain([row for _, _, rows in panels for row in rows], metric)
    height = {task: top + lane * at for at, task in enumerate(order)}
    bottom = top + lane * len(order)
    panel = max(_LEAST_PANEL, (_WIDTH - left - gap * (len(panels) - 1)) / max(len(panels), 1) - 14)
    width = left + len(panels) * (panel + 14 + gap) - gap
    most = 4 if panel > _LEAST_PANEL else 2
    marks = _gain_marks([row for _, _, rows in panels for row in rows], metric, most)
    low, high = marks[0], marks[-1]
    body = [svg.text(left - 10, height[task] + 11, shortened(task, 40), 10.5, "end") for task in order]
    for place, (system, number, rows) in enumerate(panels):
        start = left + place * (panel + 14 + gap)

        def x(value: float, start: float = start) -> float:
            return start + panel * (value - low) / (high - low)

        better = sum(row["value"] > 0 if metric.higher_is_better else row["value"] < 0 for row in rows)
        body.append(svg.mark(start + 5, 10, number))
        body.append(svg.text(start + 16, 14, system, 12.5, bold=True))
        body.append(svg.text(start, 32, f"better on {better} of {len(rows)}", 11, fill="muted"))
        for tick in marks:
            body.append(svg.line(x(tick), top - 3, x(tick), bottom, "muted" if tick == 0 else "line"))
            body.append(svg.text(x(tick), bottom + 15, svg.label(tick), 10.5, "middle", "muted"))
        for row in sorted(rows, key=lambda row: height[row["task_id"]]):
            y, value = height[row["task_id"]] + 2, row["value"]
            ends = numbers.signed_interval(metric, row["low"], row["high"], row["n"])
            title = f"{row['task_id']}: {numbers.signed(metric, value)} {ends}"
            length = max(x(abs(value)) - x(0), 0.6)
            body.append(svg.bar(x(min(value, 0)), y, length, lane - 4, svg.colour(number), title))
            if row["low"] is not None:
                middle = y + (lane - 4) / 2
                body.append(svg.line(x(row["low"]), middle, x(row["high"]), middle, "ink", 0.8))
    title = f"{numbers.heading(metric)}: gain over the best baseline"
    body.append(svg.text(left, bottom + 32, title, 11, fill="muted"))
    drawing = svg.drawing(width, bottom + 40, "Gain of every task over the best baseline", body)
    values = [
        (row["task_id"], system, row["value"], row["low"], row["high"], row["n"])
        for system, _, rows in panels
        for row in rows
    ]
    return Plot(name, drawing, ("task", "system", "gain", "low", "high"), values)


def _by_mean_gain(rows: Sequence[Mapping[str, Any]], metric: Metric) -> list[str]:
    """The tasks, those with the largest mean gain first."""
    by_task: dict[str, list[float]] = {}
    for row in rows:
        by_task.setdefault(row["task_id"], []).append(
            row["value"] if metric.higher_is_better else -row["value"]
        )
    return sorted(by_task, key=lambda task: (-sum(by_task[task]) / len(by_task[task]), task))


def _gain_marks(rows: Sequence[Mapping[str, Any]], metric: Metric, most: int) -> list[float]:
    """About `most` ticks of an axis that reaches over zero, all values and all intervals."""
    ends = [row[name] for row in rows for name in ("value", "low", "high") if row[name] is not None]
    return svg.around(min([*ends, 0.0]), max([*ends, 0.1 * metric.scale]), most)


def shortened(text: str, most: int) -> str:
    """At most `most` characters of `text`, the last an ellipsis where some are missing."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def points(it: Points, order: Mapping[str, int]) -> Plot:
    """A mark a point, with the line of its interval; those of a system are joined where the plot says so.

    `order` is the place of each system among all.
    """
    size, left, top = 300.0, 52.0, 30.0

    def x(value: float) -> float:
        return left + size * (value - it.x.low) / (it.x.high - it.x.low)

    def y(value: float) -> float:
        return top + size * (it.y.high - value) / (it.y.high - it.y.low)

    body = []
    for tick in svg.ticks(it.x.low, it.x.high):
        body.append(svg.line(x(tick), top, x(tick), top + size))
        body.append(svg.text(x(tick), top + size + 17, svg.label(tick), 11, "middle", "muted"))
    for tick in svg.ticks(it.y.low, it.y.high):
        body.append(svg.line(left, y(tick), left + size, y(tick)))
        body.append(svg.text(left - 8, y(tick) + 4, svg.label(tick), 11, "end", "muted"))
    if not it.joined and (it.x.low, it.x.high) == (it.y.low, it.y.high):
        body.append(svg.line(left, top + size, left + size, top, "muted", 1, "4 3"))
    body.append(svg.text(left + size / 2, top + size + 36, it.x.title, 12, "middle", "muted"))
    body.append(svg.text(left, top - 10, it.y.title, 12, fill="muted"))
    present = sorted(it.systems, key=lambda system: order[system])
    for place, system in enumerate(present):
        mark, some = order[system], it.systems[system]
        body += [
            svg.line(x(one.x), y(one.low), x(one.x), y(one.high), svg.colour(mark), 1.2)
            for one in some
            if one.low is not None and one.high is not None
        ]
        if it.joined and some:
            drawn = " L".join(f"{svg.n(x(one.x))} {svg.n(y(one.y))}" for one in some)
            body.append(svg.path(f"M{drawn}", svg.colour(mark), 1.6))
        body += [svg.mark(x(one.x), y(one.y), mark, one.title, 4) for one in some]
        at = top + 20 + 22 * place
        body.append(svg.mark(left + size + 30, at, mark))
        body.append(svg.text(left + size + 42, at + 4, system, 12))
    return Plot(it.name, svg.drawing(left + size + 190, top + size + 46, it.label, body), it.columns, it.rows)


def losses(
    file: str,
    lines: Sequence[tuple[str, int, Sequence[tuple[int, float]], int | None]],
    heading: str,
    label: str,
) -> Plot:
    """For each recipe (name, its place among the systems, (step, value) pairs, the chosen step) a line.

    `file` is the name of the files, `heading` is what the values are, `label` describes the drawing.
    """
    width, height, left, top = 620.0, 260.0, 52.0, 22.0
    inside, floor = width - left - 130, height - 40
    values = [loss for _, _, pairs, _ in lines for _, loss in pairs]
    marks = svg.around(min(values), max(values), 5)
    least, span = marks[0], marks[-1] - marks[0]
    last = max(step for _, _, pairs, _ in lines for step, _ in pairs) or 1

    def x(step: float) -> float:
        return left + inside * step / last

    def y(loss: float) -> float:
        return floor - (floor - top) * (loss - least) / span

    body = []
    for tick in marks:
        body.append(svg.line(left, y(tick), left + inside, y(tick)))
        body.append(svg.text(left - 8, y(tick) + 4, svg.label(tick), 11, "end", "muted"))
    steps = svg.ticks(0, last, whole=True)
    body += [svg.text(x(tick), floor + 17, svg.label(tick), 11, "middle", "muted") for tick in steps]
    body.append(svg.text(left, top - 5, heading, 11, fill="muted"))
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
    columns = ("recipe", "step", heading, "chosen")
    rows = [
        (name, step, value, "yes" if step == chosen else "no")
        for name, _, pairs, chosen in lines
        for step, value in pairs
    ]
    return Plot(file, svg.drawing(width, height, label, body), columns, rows)


# Width of a bin in nats, and the ends of the axis: what lies beyond is counted in the outermost bins.
BIN, LOW, HIGH = 0.25, -3.0, 4.0
_PER_ROW = 3
_PANEL, _HEIGHT, _LEFT, _TOP, _GAP = 300.0, 210.0, 44.0, 40.0, 24.0


def histograms(name: str, tools: Sequence[tuple[str, Sequence[float], float]]) -> Plot:
    """For every tool (name, the gains of its calls in nats, its threshold) a panel; kept calls in another colour."""
    body: list[str] = []
    for place, (tool, gains, own) in enumerate(tools):
        row, column = divmod(place, _PER_ROW)
        body += _panel(column * (_PANEL + _GAP), row * (_HEIGHT + _GAP), tool, gains, own)
    columns, rows = min(len(tools), _PER_ROW), -(-len(tools) // _PER_ROW)
    width, height = (count * (size + _GAP) - _GAP for count, size in ((columns, _PANEL), (rows, _HEIGHT)))
    label = "Loss saved by sampled calls, by tool"
    drawing = svg.drawing(max(width, _PANEL), max(height, 0), label, body)
    return Plot(name, drawing, ("tool", "from", "to", "calls", "kept"), _bins(tools))


def _bins(tools: Sequence[tuple[str, Sequence[float], float]]) -> list[tuple[str, float, float, int, int]]:
    rows = []
    for tool, gains, own in tools:
        every, kept = counts(gains), counts([gain for gain in gains if gain >= own])
        for at in sorted(every):
            start = LOW + at * BIN
            rows.append((tool, start, start + BIN, every[at], kept[at]))
    return rows


def counts(gains: Sequence[float]) -> Counter[int]:
    """The number of gains in every bin, by the bin's number: its lower end is `LOW` + number * `BIN`."""
    first, last = round(LOW / BIN), round(HIGH / BIN) - 1
    return Counter(min(max(math.floor(gain / BIN), first), last) - first for gain in gains)


def _panel(x0: float, y0: float, name: str, gains: Sequence[float], own: float) -> list[str]:
    left, right, top, floor = x0 + _LEFT, x0 + _PANEL - 16, y0 + _TOP, y0 + _HEIGHT - 38
    kept = counts([gain for gain in gains if gain >= own])
    below = counts([gain for gain in gains if gain < own])
    most = max((kept[at] + below[at] for at in {*kept, *below}), default=0) or 1

    def x(value: float) -> float:
        return left + (right - left) * (min(max(value, LOW), HIGH) - LOW) / (HIGH - LOW)

    def y(count: float) -> float:
        return floor - (floor - top) * count / most

    body = [svg.text(left, y0 + 14, name, 13, bold=True)]
    told = f"{sum(kept.values()):,} of {len(gains):,} save at least {svg.n(own)}"
    body.append(svg.text(left, y0 + 30, told, 11, fill="s5"))
    for tick in svg.ticks(0, most, 4, whole=True):
        body.append(svg.line(left, y(tick), right, y(tick)))
        body.append(svg.text(left - 6, y(tick) + 4, svg.label(tick), 10.5, "end", "muted"))
    for tick in svg.ticks(LOW, HIGH, 7):
        shown = {LOW: f"≤ {svg.label(tick)}", HIGH: f"≥ {svg.label(tick)}"}.get(tick, svg.label(tick))
        body.append(svg.text(x(tick), floor + 16, shown, 10.5, "middle", "muted"))
    body.append(svg.text((left + right) / 2, floor + 32, "loss saved (nats)", 10.5, "middle", "muted"))
    for at in sorted({*kept, *below}):
        start = LOW + at * BIN
        title = f"{svg.n(start)} to {svg.n(start + BIN)}: {below[at] + kept[at]:,}, {kept[at]:,} kept"
        bottom = 0
        for count, fill in ((below[at], "s1"), (kept[at], "s4")):
            if count:
                high = max(y(bottom) - y(bottom + count), 1.5)
                body.append(
                    svg.bar(
                        x(start) + 0.5, y(bottom) - high, x(start + BIN) - x(start) - 1, high, fill, title
                    )
                )
                bottom += count
    body.append(svg.line(x(own), top - 6, x(own), floor, "s5", 1.5, "4 3"))
    return body
