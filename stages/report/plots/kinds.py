"""The plots of the report: scores with intervals, gains, points, lines, histograms, bars, and the graph of stages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import networkx

from nightjar.benchmarks.sections import Gains, Interval, Intervals, Points
from nightjar.statistics.metric import Metric
from stages.report import numbers
from stages.report.plots.spec import ROLES, Axis, Mark, Panel, Plot, rounded, shortened

# Pixels of a lane of a forest, of a bar, and between groups of lanes in units of a lane.
_LANE, _BAR, _GAP = 17.0, 17.0, 0.8
SYMBOLS = [symbol for symbol, _ in ROLES.values()]

# Systems by role, in their order.
Roles = Mapping[str, str]
# A row of a forest: title, note, metric, and the values by system.
ForestRow = tuple[str, str, Metric, Mapping[str, Interval]]


def of(block: Intervals | Gains | Points, roles: Roles) -> Plot:
    """The plot of a block of a section."""
    if isinstance(block, Intervals):
        return forest(block.name, block.label, block.rows, roles)
    return gains(block, roles) if isinstance(block, Gains) else points(block, roles)


def value_text(metric: Metric, lane: Interval) -> str:
    """`48.1 [40.2, 55.9]`; `48.1` without an interval."""
    value = numbers.value(metric, lane.value)
    return value if lane.low is None else f"{value} {numbers.interval(metric, lane.low, lane.high)}"


def forest(name: str, label: str, rows: Sequence[ForestRow], roles: Roles, width: float = 360) -> Plot:
    """A panel for each row, in it a lane for each system with its value and interval, all by role."""
    panels = []
    for title, note, metric, lanes in rows:
        listed = sorted(
            (system for system in lanes if system in roles), key=lambda it: list(ROLES).index(roles[it])
        )
        places = {system: float(len(listed) - at) for at, system in enumerate(listed)}
        high = rounded(0, max(lane.highest for lane in lanes.values()))[1]
        low, end = numbers.axis(metric, high)
        segments, dots = [], []
        for system, y in places.items():
            lane, colour = lanes[system], roles[system]
            if lane.low is not None and lane.high is not None:
                segments.append({"x1": lane.low, "x2": lane.high, "y1": y, "y2": y, "colour": colour})
            words = f"{system} ({colour if colour != 'bound' else 'upper bound'})\n{value_text(metric, lane)}"
            dots.append(
                {"x": lane.value, "y": y, "colour": colour, "symbol": ROLES[colour][0], "title": words}
            )
        panels.append(
            Panel(
                title,
                Axis(low, min(end, high) if math.isfinite(end) else high, ""),
                Axis(0.4, len(listed) + 0.6, "", [(y, system) for system, y in places.items()]),
                (Mark("link", segments), Mark("dot", dots)),
                _LANE * len(listed) + 8,
                note,
            )
        )
    values = [
        (title, metric.title, system, lane.value, lane.low, lane.high)
        for title, _, metric, lanes in rows
        for system, lane in lanes.items()
    ]
    return Plot(name, label, panels, ("row", "metric", "system", "value", "low", "high"), values, width)


def gains(block: Gains, roles: Roles) -> Plot:
    """For each system a panel with a bar a task, all panels in one order: the largest mean gain first."""
    every = [row for rows in block.systems.values() for row in rows]
    sign = 1 if block.metric.higher_is_better else -1
    by_task: dict[str, list[float]] = {}
    for row in every:
        by_task.setdefault(row["task_id"], []).append(sign * row["value"])
    order = sorted(by_task, key=lambda task: (-sum(by_task[task]) / len(by_task[task]), task))
    places = {task: float(len(order) - at) for at, task in enumerate(order)}
    ends = [row[name] for row in every for name in ("value", "low", "high") if row[name] is not None]
    low, high = rounded(min([*ends, 0.0]), max([*ends, 0.1 * block.metric.scale]))
    panels = []
    for system, rows in block.systems.items():
        bars, lines = (
            [],
            [{"x1": 0, "x2": 0, "y1": 0.4, "y2": len(order) + 0.6, "colour": "muted", "width": 1}],
        )
        for row in rows:
            y, value = places[row["task_id"]], row["value"]
            interval = numbers.signed_interval(block.metric, row["low"], row["high"], row["n"])
            gain = f"{numbers.signed(block.metric, value)} {interval} over {row['heuristic']}"
            words = f"{row['task_id']}\n{row['category']}\n{gain}"
            ends_of = {"x1": min(value, 0), "x2": max(value, 0), "y1": y - 0.35, "y2": y + 0.35}
            bars.append({**ends_of, "colour": roles[system], "title": words})
            if row["low"] is not None:
                lines.append(
                    {"x1": row["low"], "x2": row["high"], "y1": y, "y2": y, "colour": "ink", "width": 1}
                )
        better = sum(sign * row["value"] > 0 for row in rows)
        labels = [(y, shortened(task, 36)) for task, y in places.items()]
        panels.append(
            Panel(
                system,
                Axis(low, high),
                Axis(0.4, len(order) + 0.6, "", labels),
                (Mark("rect", bars), Mark("link", lines)),
                _BAR * len(order) + 10,
                f"better on {better} of {len(rows)}",
            )
        )
    values = [
        (
            row["task_id"],
            row["category"],
            row["heuristic"],
            system,
            *(row[name] for name in ("value", "low", "high", "n")),
        )
        for system, rows in block.systems.items()
        for row in rows
    ]
    label = f"{numbers.heading(block.metric)}: gain of every task over the best baseline"
    columns = ("task", "category", "best baseline", "system", "gain", "low", "high", "n")
    return Plot(block.name, label, panels, columns, values, 480)


def points(block: Points, roles: Roles) -> Plot:
    """A mark a point, with the line of its interval; those of a system are joined where the plot says so.

    Systems have the colours of their roles, and a symbol each.
    """
    links: list[Mapping[str, Any]] = []
    dots, lines, legend = [], [], []
    for at, (system, system_points) in enumerate(block.systems.items()):
        colour, symbol = roles[system], SYMBOLS[at % len(SYMBOLS)]
        legend.append((colour, symbol, system))
        for drawn_point in system_points:
            dots.append(
                {
                    "x": drawn_point.x,
                    "y": drawn_point.y,
                    "colour": colour,
                    "symbol": symbol,
                    "title": drawn_point.title,
                }
            )
            if drawn_point.low is not None and drawn_point.high is not None:
                links.append(
                    {
                        "x1": drawn_point.x,
                        "x2": drawn_point.x,
                        "y1": drawn_point.low,
                        "y2": drawn_point.high,
                        "colour": colour,
                        "width": 1,
                    }
                )
        if block.joined and system_points:
            lines.append(
                {
                    "x": [drawn_point.x for drawn_point in system_points],
                    "y": [drawn_point.y for drawn_point in system_points],
                    "colour": colour,
                }
            )
    dashed: list[Mapping[str, Any]] = []
    if not block.joined and (block.x.low, block.x.high) == (block.y.low, block.y.high):
        ends = {"x1": block.x.low, "y1": block.y.low, "x2": block.x.high, "y2": block.y.high}
        dashed = [{**ends, "colour": "muted", "width": 1, "dashed": True}]
    marks = (Mark("link", dashed), Mark("link", links), Mark("line", lines), Mark("dot", dots))
    x, y = (Axis(axis.low, axis.high, axis.title) for axis in (block.x, block.y))
    return Plot(
        block.name, block.label, [Panel("", x, y, marks, 300)], block.columns, block.rows, 480, legend
    )


def curves(
    name: str, label: str, heading: str, recipes: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]], roles: Roles,
    chosen: Mapping[str, int | None],
) -> Plot:  # fmt: skip
    """A panel a recipe with its curves by step: a line for many values, a mark for each of few.

    `recipes` are the (step, value) pairs by recipe and curve; `chosen` is the step whose weights were kept.
    """
    panels = []
    for recipe, recipe_curves in recipes.items():
        values = [pair for pairs in recipe_curves.values() for pair in pairs]
        last = max(step for step, _ in values) or 1
        low, high = rounded(min(0.0, *(value for _, value in values)), max(value for _, value in values))
        marks = []
        for curve, pairs in recipe_curves.items():
            colour = "soft" if curve == "training" else roles.get(recipe, "treatment")
            steps, losses = ([pair[axis] for pair in pairs] for axis in (0, 1))
            marks.append(Mark("line", [{"x": steps, "y": losses, "colour": colour}]))
            dots = [
                {"x": step, "y": value, "colour": colour, "symbol": "star" if is_kept else "circle",
                 "title": f"{curve}, step {step}: {value:.3f}" + (" (kept)" if is_kept else "")}
                for step, value in pairs
                if math.isfinite(value)
                for is_kept in [curve != "training" and step == chosen.get(recipe)]
            ]  # fmt: skip
            marks.append(Mark("dot", dots if len(dots) <= 60 else []))
        panels.append(Panel(recipe, Axis(0, last, "step"), Axis(low, high, heading), marks, 170))
    rows = [
        (recipe, curve, step, value, "yes" if curve != "training" and step == chosen.get(recipe) else "no")
        for recipe, recipe_curves in recipes.items()
        for curve, pairs in recipe_curves.items()
        for step, value in pairs
    ]
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
        kept_counts, below = (
            counts([gain for gain in gains_of_tool if (gain >= threshold) == reached])
            for reached in (True, False)
        )
        largest = max((kept_counts[at] + below[at] for at in {*kept_counts, *below}), default=0) or 1
        bars = []
        for at in sorted({*kept_counts, *below}):
            start, bottom, every = LOW + at * BIN, 0, kept_counts[at] + below[at]
            rows.append((tool, start, start + BIN, every, kept_counts[at]))
            words = f"{start:g} to {start + BIN:g} nats\n{every:,} calls, {kept_counts[at]:,} kept"
            for count, colour in ((below[at], "soft"), (kept_counts[at], "accent")):
                if count:
                    ends = {"x1": start, "x2": start + BIN, "y1": bottom, "y2": bottom + count}
                    bars.append({**ends, "colour": colour, "edge": "paper", "title": words})
                    bottom += count
        line = {
            "x1": threshold,
            "x2": threshold,
            "y1": 0,
            "y2": largest,
            "colour": "ink",
            "width": 1,
            "dashed": True,
        }
        reached = f"{sum(kept_counts.values()):,} of {len(gains_of_tool):,} save at least {threshold:g}"
        axes = Axis(LOW, HIGH, "loss saved (nats)"), Axis(0, rounded(0, largest)[1], "calls")
        panels.append(Panel(tool, *axes, (Mark("rect", bars), Mark("link", [line])), 140, reached))
    columns = ("tool", "from", "to", "calls", "kept")
    return Plot(name, "Loss saved by sampled calls, by tool", panels, columns, rows, 360)


def bars(name: str, label: str, rows: Sequence[tuple[str, int, int]]) -> Plot:
    """Two panels of horizontal bars in one order: tasks, and instances."""
    places = [(float(len(rows) - at), shortened(row[0], 34)) for at, row in enumerate(rows)]
    panels = []
    for title, column in (("tasks", 1), ("instances", 2)):
        high = rounded(0, max((int(row[column]) for row in rows), default=1))[1]
        rectangles = [
            {"x1": 0, "x2": row[column], "y1": y - 0.35, "y2": y + 0.35, "colour": "accent",
             "title": f"{row[0]}\n{row[column]:,} {title}"}
            for row, (y, _) in zip(rows, places, strict=True)
        ]  # fmt: skip
        axes = Axis(0, high), Axis(0.4, len(rows) + 0.6, "", places)
        panels.append(Panel(title, *axes, [Mark("rect", rectangles)], _BAR * len(rows) + 10))
    return Plot(name, label, panels, ("value", "tasks", "instances"), rows, 480)


def graph(
    name: str, boxes: Mapping[str, Sequence[str]], reads: networkx.DiGraph, rows: Sequence[Sequence[Any]]
) -> Plot:  # fmt: skip
    """Boxes with lines of text in layers, each below all that it reads from; an edge of `reads` leads to the reader."""
    place: dict[str, float] = {}
    y: dict[str, float] = {}
    layout = [list(row) for row in networkx.topological_generations(reads)]
    step = 100.0
    top = step * len(layout)
    for level, row in enumerate(layout):  # each box near the middle of what it reads from
        near = {box: [place[one] for one in sorted(reads.predecessors(box))] for box in row}
        row.sort(key=lambda box: (sum(near[box]) / len(near[box]) if near[box] else 0.5, box))
        place |= {box: (at + 0.5) / len(row) for at, box in enumerate(row)}
        y |= dict.fromkeys(row, top - step * level - step / 2)
    half = 0.46 / max(map(len, layout), default=1)
    links = [
        {
            "x1": place[one],
            "x2": place[box],
            "y1": y[one] - 30,
            "y2": y[box] + 30,
            "colour": "soft",
            "width": 1.2,
        }
        for one, box in sorted(reads.edges)
    ]
    rects, texts = [], []
    for box, lines in boxes.items():
        x = place[box]
        ends = {"x1": x - half, "x2": x + half, "y1": y[box] - 30, "y2": y[box] + 30}
        rects.append({**ends, "colour": "panel", "edge": "line", "title": "\n".join([box, *lines])})
        for at, line in enumerate([box, *lines][:3]):
            ink = "muted" if at else "ink"
            texts.append(
                {
                    "x": x,
                    "y": y[box] + 16 - 16 * at,
                    "text": line,
                    "colour": ink,
                    "bold": not at,
                }
            )
    hidden = Axis(0, 1, hidden=True), Axis(0, top, hidden=True)
    panel = Panel("", *hidden, (Mark("link", links), Mark("rect", rects), Mark("text", texts)), top)
    columns = ("stage", "rows in", "rows out", "rows rejected", "reads from")
    return Plot(
        name, "The stages that ran, with their rows", [panel], columns, rows, 156 * max(3, *map(len, layout))
    )
