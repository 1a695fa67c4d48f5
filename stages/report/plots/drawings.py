"""The report's drawings: the graph, and scores with their intervals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nightjar.benchmarks.card import Metric
from nightjar.benchmarks.sections import Interval
from nightjar.core.errors import NightjarError
from stages.report import numbers
from stages.report.plots import svg
from stages.report.plots.svg import Plot
from stages.report.read.facts import Edges, Node

_NODE = (196.0, 58.0)


def row_counts(node: Node) -> str:
    """`1,204 in · 1,200 out · 4 rejected`."""
    counts = f"{node.rows_in:,} in · {node.rows_out:,} out"
    return counts + (f" · {node.rows_rejected:,} rejected" if node.rows_rejected else "")


def graph(nodes: Sequence[Node], sources: Edges) -> Plot:
    """The stages in layers, each with its rows; edges run downwards."""
    width, height = _NODE
    plan = layout(sources, width, 18, 10)
    margin, step = 6.0, height + 42

    def at(place: tuple[float, int]) -> tuple[float, float]:
        return margin + place[0], margin + place[1] * step

    body = []
    for way in plan.ways:
        points = [at(place) for place in way]
        x, y = points[0]
        drawn = f"M{svg.n(x)} {svg.n(y + height)}"
        for (x1, y1), (x2, y2) in itertools.pairwise(points):
            start, end = y1 + height, y2
            half = (start + end) / 2
            drawn += f" C{svg.n(x1)} {svg.n(half)} {svg.n(x2)} {svg.n(half)} {svg.n(x2)} {svg.n(end)}"
            if (x2, y2) != points[-1]:
                drawn += f" V{svg.n(y2 + height)}"
        body.append(svg.path(drawn, "s1", 1.3))
    for node in nodes:
        x, y = at(plan.places[node.name])
        left = x - width / 2
        body.append(svg.rect(left, y, width, height, "panel", "line", 6))
        body.append(svg.text(left + 10, y + 17, node.stage, 13, bold=True))
        if node.item:
            body.append(svg.text(left + 10, y + 32, node.item, 12, fill="muted"))
        warned = "s5" if node.rows_rejected else "ink"
        body.append(svg.text(left + 10, y + height - 9, row_counts(node), 10.5, fill=warned))
    total = margin * 2 + plan.layers * step - (step - height)
    drawing = svg.drawing(plan.width + 2 * margin, total, "The stages that ran, with their rows", body)
    rows = [
        (it.name, it.rows_in, it.rows_out, it.rows_rejected, " ".join(sorted(sources[it.name])))
        for it in nodes
    ]
    return Plot("stages", drawing, ("stage", "rows in", "rows out", "rows rejected", "reads from"), rows)


# A row of `scores`: title, note, its metric, and the lanes by system.
ScoreRow = tuple[str, str, Metric, Mapping[str, Interval]]


def scores(
    name: str, rows: Sequence[ScoreRow], systems: Sequence[str], order: Mapping[str, int], label: str
) -> Plot:
    """Dots with intervals: a block a row, in it a lane for each of `systems`, on one axis for all rows.

    The metrics of all rows have one range; `order` is the place of each system among all.
    """
    left, right, width, pitch, gap = 226.0, 44.0, 920.0, 12.0, 15.0
    body, top = _legend(systems, order, width)
    block = pitch * len(systems) + gap
    height = top + block * len(rows) + 22
    highest = max((lane.highest for _, _, _, lanes in rows for lane in lanes.values()), default=0.0)
    low, high = numbers.axis(rows[0][2], highest)

    def x(value: float) -> float:
        return left + (width - left - right) * (value - low) / (high - low)

    bottom = top + block * len(rows) - gap / 2
    for tick in svg.ticks(low, high):
        body.append(svg.line(x(tick), top - gap / 2, x(tick), bottom))
        body.append(svg.text(x(tick), bottom + 16, svg.label(tick), 11, "middle", "muted"))
    for place, (title, note, metric, lanes) in enumerate(rows):
        y = top + block * place
        middle = y + pitch * len(systems) / 2
        body.append(svg.text(left - 14, middle - 1, title, 13, "end", bold=True))
        body.append(svg.text(left - 14, middle + 14, note, 11, "end", "muted"))
        if place:
            body.append(svg.line(0, y - gap / 2, width, y - gap / 2))
        for at, system in enumerate(systems):
            if system not in lanes:
                continue
            one, mid = lanes[system], y + pitch * (at + 0.5)
            body += _dot(one, order[system], x, mid, f"{system}: {shown(metric, one)}", 4, 1.8)
            value = numbers.value(metric, one.value)
            body.append(svg.text(x(one.highest) + 8, mid + 3.5, value, 10, fill="muted"))
    values = [
        (title, metric.title, system, lane.value, lane.low, lane.high)
        for title, _, metric, lanes in rows
        for system, lane in lanes.items()
    ]
    columns = ("row", "metric", "system", "value", "low", "high")
    return Plot(name, svg.drawing(width, height, label, body), columns, values)


def strip(lane: Interval, number: int, metric: Metric, highest: float) -> Markup:
    """One value with its interval on a line over the range of the metric, for a cell of a table.

    `highest` is the end of the line for a metric whose range has none.
    """
    width, middle = 220.0, 9.0
    low, high = numbers.axis(metric, highest)

    def x(value: float) -> float:
        return 7 + (width - 14) * (value - low) / (high - low)

    body = [svg.line(x(low), middle, x(high), middle)]
    body += [svg.line(x(tick), middle - 3, x(tick), middle + 3) for tick in (low, (low + high) / 2, high)]
    body += _dot(lane, number, x, middle, shown(metric, lane), 4.5, 2.4)
    return svg.drawing(width, 18, shown(metric, lane), body)


def shown(metric: Metric, lane: Interval) -> str:
    """`48.1 [40.2, 55.9]`; `48.1` without an interval."""
    value = numbers.value(metric, lane.value)
    return value if lane.low is None else f"{value} {numbers.interval(metric, lane.low, lane.high)}"


def _legend(systems: Sequence[str], order: Mapping[str, int], width: float) -> tuple[list[str], float]:
    """The mark of each system with its name, in as many lines as they need; and where the rows below begin."""
    pitch = 38 + 6.6 * max((len(system) for system in systems), default=0)
    columns = max(1, int(width // pitch))
    body = []
    for place, system in enumerate(systems):
        x, y = pitch * (place % columns) + 5, 14 + 20.0 * (place // columns)
        body.append(svg.mark(x, y, order[system]))
        body.append(svg.text(x + 11, y + 4, system, 12))
    return body, 46 + 20.0 * ((len(systems) - 1) // columns)


def _dot(
    lane: Interval, number: int, x: Callable[[float], float], y: float, title: str, size: float, width: float
) -> list[str]:
    """A value's mark over the line of its interval, which is left out where there is none."""
    mark = svg.mark(x(lane.value), y, number, title, size)
    if lane.low is None or lane.high is None:
        return [mark]
    return [svg.line(x(lane.low), y, x(lane.high), y, svg.colour(number), width), mark]


_SWEEPS = 12


@dataclass(frozen=True)
class Layout:
    """x of the middle, and the number of the layer; a way is the places that an edge runs through."""

    places: dict[str, tuple[float, int]]
    ways: list[list[tuple[float, int]]]
    width: float
    layers: int


def layers(sources: dict[str, set[str]]) -> dict[str, int]:
    """Each node as low as its readers allow, counted from the top. Raises NightjarError on a circle."""
    readers: dict[str, set[str]] = {name: set() for name in sources}
    for name, direct in sources.items():
        for one in direct:
            readers[one].add(name)
    heights: dict[str, int] = {}
    waiting = set(sources)
    while waiting:
        ready = {name for name in waiting if not readers[name] & waiting}
        if not ready:
            raise NightjarError(
                "the stages read from one another in a circle", sorted(waiting), "fix dvc.yaml"
            )
        for name in ready:
            heights[name] = 1 + max((heights[reader] for reader in readers[name]), default=-1)
        waiting -= ready
    top = max(heights.values(), default=0)
    return {name: top - height for name, height in heights.items()}


def layout(sources: dict[str, set[str]], node_width: float, gap: float, way_width: float) -> Layout:
    """Places for nodes `node_width` wide and `gap` apart; an edge that passes takes `way_width`."""
    level = layers(sources)
    rows: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for name in sorted(level):
        rows[level[name]].append(name)
    ups: dict[str, list[str]] = {}
    downs: dict[str, list[str]] = {}
    chains: list[list[str]] = []
    for name in sorted(sources):
        for one in sorted(sources[name]):
            between = [f"{one}\x1f{name}\x1f{number}" for number in range(level[one] + 1, level[name])]
            for number, place in enumerate(between, start=level[one] + 1):
                rows[number].append(place)
            chain = [one, *between, name]
            chains.append(chain)
            for upper, lower in itertools.pairwise(chain):
                downs.setdefault(upper, []).append(lower)
                ups.setdefault(lower, []).append(upper)
    best, fewest = [list(row) for row in rows], _crossings(rows, downs)
    for sweep in range(_SWEEPS):
        _sweep(rows, ups if sweep % 2 == 0 else downs, forward=sweep % 2 == 0)
        crossed = _crossings(rows, downs)
        if crossed < fewest:
            best, fewest = [list(row) for row in rows], crossed
    return _place(best, chains, set(sources), (node_width, gap, way_width))


def _sweep(rows: list[list[str]], neighbours: dict[str, list[str]], forward: bool) -> None:
    ordered = range(1, len(rows)) if forward else range(len(rows) - 2, -1, -1)
    for number in ordered:
        before = {name: at for at, name in enumerate(rows[number - 1 if forward else number + 1])}
        middle = {}
        for at, name in enumerate(rows[number]):
            near = [before[other] for other in neighbours.get(name, [])]
            middle[name] = sum(near) / len(near) if near else float(at)
        rows[number].sort(key=lambda name: middle[name])


def _crossings(rows: list[list[str]], downs: dict[str, list[str]]) -> int:
    count = 0
    for upper, lower in itertools.pairwise(rows):
        at = {name: place for place, name in enumerate(lower)}
        ends = [at[other] for name in upper for other in sorted(downs.get(name, []), key=lambda one: at[one])]
        count += sum(a > b for number, a in enumerate(ends) for b in ends[number + 1 :])
    return count


def _place(
    rows: list[list[str]], chains: list[list[str]], real: set[str], sizes: tuple[float, float, float]
) -> Layout:
    node_width, gap, way_width = sizes
    widths = [[node_width if name in real else way_width for name in row] for row in rows]
    total = max((sum(row) + gap * (len(row) - 1) for row in widths), default=0.0)
    places: dict[str, tuple[float, int]] = {}
    for number, (row, across) in enumerate(zip(rows, widths, strict=True)):
        left = (total - sum(across) - gap * (len(row) - 1)) / 2
        for name, width in zip(row, across, strict=True):
            places[name] = (left + width / 2, number)
            left += width + gap
    ways = [[places[name] for name in chain] for chain in chains]
    return Layout({name: place for name, place in places.items() if name in real}, ways, total, len(rows))
