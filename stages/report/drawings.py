"""The report's drawings: the graph, scores with their intervals, and calls kept by threshold."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stages.report import axis, svg
from stages.report.facts import Edges, Node
from stages.report.layout import layout

_NODE = (196.0, 58.0)


def rows_told(node: Node) -> str:
    """`1,204 in · 1,200 out · 4 rejected`."""
    told = f"{node.rows_in:,} in · {node.rows_out:,} out"
    return told + (f" · {node.rows_rejected:,} rejected" if node.rows_rejected else "")


def graph(nodes: Sequence[Node], sources: Edges) -> str:
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
        body.append(svg.text(left + 10, y + height - 9, rows_told(node), 10.5, fill=warned))
    total = margin * 2 + plan.layers * step - (step - height)
    return svg.drawing(plan.width + 2 * margin, total, "The stages that ran, with their rows", body)


def mermaid(nodes: Sequence[Node], sources: Edges) -> str:
    """The same graph as a Mermaid flowchart."""
    number = {node.name: f"n{at}" for at, node in enumerate(nodes)}
    lines = ["flowchart TD"]
    for node in nodes:
        label = f"{node.name}<br/>{rows_told(node)}".replace('"', "#quot;")
        lines.append(f'  {number[node.name]}["{label}"]')
    for node in nodes:
        lines += [f"  {number[one]} --> {number[node.name]}" for one in sorted(sources[node.name])]
    return "\n".join(lines)


@dataclass(frozen=True)
class Lane:
    """One value with its interval, in percent; `low` and `high` are None where it has none."""

    value: float
    low: float | None
    high: float | None

    @property
    def ends(self) -> tuple[float, float]:
        """Where the line of the interval begins and ends; both at the value where there is none."""
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)

    @property
    def text(self) -> str:
        """`44.3 (38.1 to 50.6)`, or the value alone."""
        low, high = self.ends
        return f"{self.value:.1f}" + ("" if self.low is None else f" ({low:.1f} to {high:.1f})")


def scores(rows: Sequence[tuple[str, str, Mapping[str, Lane]]], systems: Sequence[str], label: str) -> str:
    """Dots with intervals: a block a row (title, metric), in it a lane a system, in one order throughout."""
    left, right, width, lane, gap, top = 226.0, 44.0, 920.0, 12.0, 15.0, 46.0
    block = lane * len(systems) + gap
    height = top + block * len(rows) + 22

    def x(value: float) -> float:
        return left + (width - left - right) * value / 100

    body = []
    pitch = 38 + 6.6 * max((len(system) for system in systems), default=0)
    for number, system in enumerate(systems):
        body.append(svg.mark(left + pitch * number + 5, 14, number))
        body.append(svg.text(left + pitch * number + 16, 18, system, 12))
    bottom = top + block * len(rows) - gap / 2
    for tick in range(0, 101, 20):
        body.append(svg.line(x(tick), top - gap / 2, x(tick), bottom))
        body.append(svg.text(x(tick), bottom + 16, str(tick), 11, "middle", "muted"))
    for place, (title, metric, lanes) in enumerate(rows):
        y = top + block * place
        middle = y + lane * len(systems) / 2
        body.append(svg.text(left - 14, middle - 1, title, 13, "end", bold=True))
        body.append(svg.text(left - 14, middle + 14, metric, 11, "end", "muted"))
        if place:
            body.append(svg.line(0, y - gap / 2, width, y - gap / 2))
        for number, system in enumerate(systems):
            if system not in lanes:
                continue
            one, mid = lanes[system], y + lane * (number + 0.5)
            low, high = one.ends
            body.append(svg.line(x(low), mid, x(high), mid, svg.colour(number), 1.8))
            body.append(svg.mark(x(one.value), mid, number, f"{system}: {one.text}", 4))
            body.append(
                svg.text(x(max(high, one.value)) + 8, mid + 3.5, f"{one.value:.1f}", 10, fill="muted")
            )
    return svg.drawing(width, height, label, body)


def strip(lane: Lane, number: int) -> str:
    """One value with its interval on a line from 0 to 100, for a cell of a table."""
    width, middle = 220.0, 9.0

    def x(value: float) -> float:
        return 7 + (width - 14) * value / 100

    body = [svg.line(x(0), middle, x(100), middle)]
    body += [svg.line(x(tick), middle - 3, x(tick), middle + 3) for tick in (0, 50, 100)]
    low, high = lane.ends
    body.append(svg.line(x(low), middle, x(high), middle, svg.colour(number), 2.4))
    body.append(svg.mark(x(lane.value), middle, number, lane.text))
    return svg.drawing(width, 18, f"{lane.value:.1f} of 100", body)


def thresholds(tools: Sequence[tuple[str, Sequence[float], float]]) -> str:
    """For every tool (name, gains, its threshold) how many calls save at least so much; a panel a tool."""
    panel, height, left, top, gap = 400.0, 250.0, 48.0, 40.0, 60.0
    inside = panel - left - 16
    floor = height - 40
    body = []
    for place, (name, gains, own) in enumerate(tools):
        offset = place * (panel + gap) + left
        saved = sorted(gain for gain in gains if gain >= 0)
        most = max(len(saved), 1)
        reach = max(2.0, own, min(saved[-1] if saved else 0.0, 4.0)) * 1.04

        def x(value: float, offset: float = offset, reach: float = reach) -> float:
            return offset + inside * min(value / reach, 1.0)

        def y(count: float, most: int = most) -> float:
            return floor - (floor - top) * count / most

        body.append(svg.text(offset, 16, name, 13, bold=True))
        for tick in axis.ticks(0, most, 5, whole=True):
            body.append(svg.line(offset, y(tick), offset + inside, y(tick)))
            body.append(svg.text(offset - 8, y(tick) + 4, axis.label(tick), 11, "end", "muted"))
        body += [
            svg.text(x(tick), floor + 17, axis.label(tick), 11, "middle", "muted")
            for tick in axis.ticks(0, reach)
        ]
        body.append(
            svg.text(offset + inside / 2, floor + 34, "loss saved at least (nats)", 11, "middle", "muted")
        )
        drawn, count = f"M{svg.n(x(0))} {svg.n(y(len(saved)))}", len(saved)
        for gain in saved:
            drawn += f" H{svg.n(x(gain))} V{svg.n(y(count - 1))}"
            count -= 1
        body.append(svg.path(drawn + f" H{svg.n(offset + inside)}", "s4", 2))
        kept = sum(gain >= own for gain in saved)
        body.append(svg.line(x(own), top - 6, x(own), floor, "s5", 1.5, "4 3"))
        body.append(svg.mark(x(own), y(kept), 4))
        body.append(svg.text(x(own) + 8, top + 4, f"{kept:,} kept at {svg.n(own)}", 12, fill="s5", bold=True))
    width = len(tools) * panel + (len(tools) - 1) * gap
    return svg.drawing(width, height, "Calls that save at least so much loss, by tool", body)
