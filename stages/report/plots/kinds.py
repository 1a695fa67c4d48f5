"""The plots of the report: scores with intervals, gains, points, lines, histograms, bars, and the graph of stages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import networkx

from nightjar.benchmarks.sections import Interval, Intervals, Points
from nightjar.statistics.metric import Metric
from stages.report import numbers
from stages.report.plots.spec import ROLES, Axis, Mark, Panel, Plot, rounded, shortened

# Pixels of a lane of a forest, of a bar, and between groups of lanes in units of a lane.
_LANE, _BAR, _GAP = 17.0, 17.0, 0.8
SYMBOLS = [symbol for symbol, _ in ROLES.values()]

# Systems by role, in their order.
Roles = Mapping[str, str]


def of(block: Intervals | Points, roles: Roles) -> Plot:
    """The plot of a section."""
    return forest(block, roles) if isinstance(block, Intervals) else points(block, roles)


def value_text(metric: Metric, lane: Interval) -> str:
    """`48.1 [40.2, 55.9]`; `48.1` without an interval."""
    value = numbers.value(metric, lane.value)
    return value if lane.low is None else f"{value} {numbers.interval(metric, lane.low, lane.high)}"


def forest(block: Intervals, roles: Roles) -> Plot:
    """A panel for each row, in it a lane for each system with its value and interval, all by role."""
    panels = []
    for title, note, metric, lanes in block.rows:
        listed = sorted(
            (system for system in lanes if system in roles), key=lambda it: list(ROLES).index(roles[it])
        )
        places = {system: float(len(listed) - at) for at, system in enumerate(listed)}
        high = rounded(0, max(lane.highest for lane in lanes.values()))[1]
        low, end = numbers.axis(metric, high)
        lines, dots = [], []
        for system, y in places.items():
            lane, role = lanes[system], roles[system]
            if lane.low is not None and lane.high is not None:
                lines.append(Mark("line", (lane.low, lane.high), (y, y), role))
            words = f"{system} ({role if role != 'bound' else 'upper bound'})\n{value_text(metric, lane)}"
            dots.append(Mark("dot", (lane.value,), (y,), role, words, symbol=ROLES[role][0]))
        x = Axis(low, min(end, high) if math.isfinite(end) else high)
        panels.append(Panel(title, x, _lanes(places), [*lines, *dots], _LANE * len(listed) + 8, note))
    values = [
        (title, metric.title, system, lane.value, lane.low, lane.high)
        for title, _, metric, lanes in block.rows
        for system, lane in lanes.items()
    ]
    columns = ("row", "metric", "system", "value", "low", "high")
    return Plot(block.name, block.label, panels, columns, values, block.width)


def _lanes(places: Mapping[str, float], limit: int | None = None) -> Axis:
    """Return an axis whose lanes have names of at most `limit` characters, of any length where there is no limit."""
    names = [(y, shortened(name, limit) if limit else name) for name, y in places.items()]
    return Axis(0.4, len(places) + 0.6, "", names)


def _bar(start: float, end: float, y: float, colour: str, title: str) -> Mark:
    """Return a bar whose edge has its colour: a bar of length 0 is a line that can be pointed at."""
    return Mark("rect", (min(start, end), max(start, end)), (y - 0.35, y + 0.35), colour, title, edge=colour)


def gains(
    name: str, metric: Metric, systems: Mapping[str, Sequence[Mapping[str, Any]]], roles: Roles
) -> Plot:
    """For each system a panel with a bar a task, all panels in one order: the largest mean gain first.

    `systems` has rows of contracts.IMPROVEMENTS by system.
    """
    every = [row for rows in systems.values() for row in rows]
    sign = 1 if metric.higher_is_better else -1
    by_task: dict[str, list[float]] = {}
    for row in every:
        by_task.setdefault(row["task_id"], []).append(sign * row["value"])
    order = sorted(by_task, key=lambda task: (-sum(by_task[task]) / len(by_task[task]), task))
    places = {task: float(len(order) - at) for at, task in enumerate(order)}
    ends = [row[name] for row in every for name in ("value", "low", "high") if row[name] is not None]
    low, high = rounded(min([*ends, 0.0]), max([*ends, 0.1 * metric.scale]))
    panels = []
    for system, rows in systems.items():
        bars, lines = [], [Mark("line", (0, 0), (0.4, len(order) + 0.6), "muted", width=1)]
        for row in rows:
            y, value = places[row["task_id"]], row["value"]
            interval = numbers.signed_interval(metric, row["low"], row["high"], row["n"])
            gain = f"{numbers.signed(metric, value)} {interval} over {row['heuristic']}"
            bars.append(_bar(0, value, y, roles[system], f"{row['task_id']}\n{row['category']}\n{gain}"))
            if row["low"] is not None:
                lines.append(Mark("line", (row["low"], row["high"]), (y, y), "ink", bars[-1].title, width=1))
        better = f"better on {sum(sign * row['value'] > 0 for row in rows)} of {len(rows)}"
        height = _BAR * len(order) + 10
        panels.append(Panel(system, Axis(low, high), _lanes(places, 36), [*bars, *lines], height, better))
    numbered = ("value", "low", "high", "n")
    values = [
        (row["task_id"], row["category"], row["heuristic"], system, *(row[name] for name in numbered))
        for system, rows in systems.items()
        for row in rows
    ]
    label = f"{numbers.heading(metric)}: gain of every task over the best baseline"
    columns = ("task", "category", "best baseline", "system", "gain", "low", "high", "n")
    return Plot(name, label, panels, columns, values, 480)


def points(block: Points, roles: Roles) -> Plot:
    """A mark a point, with the line of its interval; those of a system are joined where the plot says so.

    Systems have the colours of their roles. The symbol is that of the system's place, so that systems of one role can
    be distinguished.
    """
    intervals, joins, dots, legend = [], [], [], []
    for at, (system, system_points) in enumerate(block.systems.items()):
        colour, symbol = roles[system], SYMBOLS[at % len(SYMBOLS)]
        legend.append((colour, symbol, system))
        for point in system_points:
            dots.append(Mark("dot", (point.x,), (point.y,), colour, point.title, symbol=symbol))
            if point.low is not None and point.high is not None:
                intervals.append(Mark("line", (point.x,) * 2, (point.low, point.high), colour, width=1))
        if block.joined and system_points:
            x, y = [it.x for it in system_points], [it.y for it in system_points]
            joins.append(Mark("line", x, y, colour, width=1.8))
    x_axis, y_axis = (Axis(axis.low, axis.high, axis.title) for axis in (block.x, block.y))
    ends = (x_axis.low, x_axis.high)
    is_square = ends == (y_axis.low, y_axis.high) and not block.joined
    diagonal = [Mark("line", ends, ends, "muted", width=1, dashed=True)] if is_square else []
    panel = Panel("", x_axis, y_axis, [*diagonal, *intervals, *joins, *dots], 300)
    return Plot(block.name, block.label, [panel], block.columns, block.rows, 480, legend)


def curves(
    name: str, label: str, heading: str, recipes: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]], roles: Roles,
    chosen: Mapping[str, int | None],
) -> Plot:  # fmt: skip
    """A panel a recipe with its curves by step: a line for many values, a mark for each of few.

    `recipes` are the (step, value) pairs by recipe and curve; `chosen` is the step whose weights were kept.
    """
    panels, rows = [], []
    for recipe, recipe_curves in recipes.items():
        values = [pair for pairs in recipe_curves.values() for pair in pairs]
        last = max(step for step, _ in values) or 1
        low, high = rounded(min(0.0, *(value for _, value in values)), max(value for _, value in values))
        marks = []
        for curve, pairs in recipe_curves.items():
            colour = "soft" if curve == "training" else roles.get(recipe, "treatment")
            steps, losses = ([pair[axis] for pair in pairs] for axis in (0, 1))
            marks.append(Mark("line", steps, losses, colour, width=1.8))
            dots = []
            for step, value in pairs:
                is_kept = curve != "training" and step == chosen.get(recipe)
                words = f"{curve}, step {step}: {value:.3f}" + (" (kept)" if is_kept else "")
                symbol = "star" if is_kept else "circle"
                dots.append(Mark("dot", (step,), (value,), colour, words, symbol=symbol))
                rows.append((recipe, curve, step, value, "yes" if is_kept else "no"))
            marks += dots if len(dots) <= 60 else []
        panels.append(Panel(recipe, Axis(0, last, "step"), Axis(low, high, heading), marks, 170))
    return Plot(name, label, panels, ("recipe", "curve", "step", heading, "kept"), rows, 360)


# Width of a bin in nats, and the ends of the axis: what lies beyond is counted in the outermost bins.
BIN, LOW, HIGH = 0.25, -3.0, 4.0


def counts(gains: Sequence[float]) -> Counter[int]:
    """The number of gains in every bin, by the bin's number: its lower end is `LOW` + number * `BIN`."""
    first, last = round(LOW / BIN), round(HIGH / BIN) - 1
    return Counter(min(max(math.floor(gain / BIN), first), last) - first for gain in gains)


def histograms(name: str, tools: Sequence[tuple[str, Sequence[float], float]]) -> Plot:
    """For every tool (name, the gains of its calls in nats, its threshold) a panel; kept calls in another colour."""
    panels, rows = [], []
    for tool, gains_of_tool, threshold in tools:
        kept_counts, lower_counts = (
            counts([gain for gain in gains_of_tool if (gain >= threshold) == reached])
            for reached in (True, False)
        )
        totals = kept_counts + lower_counts
        largest = max(totals.values(), default=1)
        marks = []
        for at, total in sorted(totals.items()):
            start, bottom = LOW + at * BIN, 0
            rows.append((tool, start, start + BIN, total, kept_counts[at]))
            words = f"{start:g} to {start + BIN:g} nats\n{total:,} calls, {kept_counts[at]:,} kept"
            for count, colour in ((lower_counts[at], "soft"), (kept_counts[at], "accent")):
                if count:
                    corners = (start, start + BIN), (bottom, bottom + count)
                    marks.append(Mark("rect", *corners, colour, words, edge="paper"))
                    bottom += count
        marks.append(Mark("line", (threshold, threshold), (0, largest), "ink", width=1, dashed=True))
        reached = f"{kept_counts.total():,} of {len(gains_of_tool):,} save at least {threshold:g}"
        axes = Axis(LOW, HIGH, "loss saved (nats)"), Axis(0, rounded(0, largest)[1], "calls")
        panels.append(Panel(tool, *axes, marks, 140, reached))
    columns = ("tool", "from", "to", "calls", "kept")
    return Plot(name, "Loss saved by sampled calls, by tool", panels, columns, rows, 360)


def bars(name: str, label: str, rows: Sequence[tuple[str, int, int]]) -> Plot:
    """Two panels of horizontal bars in one order: tasks, and instances."""
    places = {row[0]: float(len(rows) - at) for at, row in enumerate(rows)}
    panels = []
    for title, column in (("tasks", 1), ("instances", 2)):
        high = rounded(0, max((int(row[column]) for row in rows), default=1))[1]
        marks = [
            _bar(0, int(row[column]), places[row[0]], "accent", f"{row[0]}\n{row[column]:,} {title}")
            for row in rows
        ]
        panels.append(Panel(title, Axis(0, high), _lanes(places, 34), marks, _BAR * len(rows) + 10))
    return Plot(name, label, panels, ("value", "tasks", "instances"), rows, 480)


def graph(
    name: str, boxes: Mapping[str, Sequence[str]], reads: networkx.DiGraph, rows: Sequence[Sequence[Any]]
) -> Plot:  # fmt: skip
    """Boxes with lines of text in layers, each below all that it reads from; an edge of `reads` leads to the reader."""
    x: dict[str, float] = {}
    y: dict[str, float] = {}
    layout = [list(row) for row in networkx.topological_generations(reads)]
    step = 100.0
    top = step * len(layout)
    for level, row in enumerate(layout):  # each box near the middle of what it reads from
        near = {box: [x[one] for one in sorted(reads.predecessors(box))] for box in row}
        row.sort(key=lambda box: (sum(near[box]) / len(near[box]) if near[box] else 0.5, box))
        x |= {box: (at + 0.5) / len(row) for at, box in enumerate(row)}
        y |= dict.fromkeys(row, top - step * level - step / 2)
    half = 0.46 / max(map(len, layout), default=1)
    marks = [
        Mark("line", (x[source], x[box]), (y[source] - 30, y[box] + 30), "soft", width=1.2)
        for source, box in sorted(reads.edges)
    ]
    texts = []
    for box, lines in boxes.items():
        corners = (x[box] - half, x[box] + half), (y[box] - 30, y[box] + 30)
        marks.append(Mark("rect", *corners, "panel", "\n".join([box, *lines]), edge="line"))
        for at, line in enumerate([box, *lines][:3]):
            place = (x[box],), (y[box] + 16 - 16 * at,)
            texts.append(Mark("text", *place, "muted" if at else "ink", text=line, bold=not at))
    hidden = Axis(0, 1, hidden=True), Axis(0, top, hidden=True)
    columns = ("stage", "rows in", "rows out", "rows rejected", "reads from")
    panel, width = Panel("", *hidden, [*marks, *texts], top), 156 * max(3, *map(len, layout))
    return Plot(name, "The stages that ran, with their rows", [panel], columns, rows, width)
