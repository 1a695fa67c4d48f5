"""A histogram a tool: the loss that its sampled calls save, and where the filter's threshold lies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from stages.report.plots import axis, svg
from stages.report.plots.plot import Plot

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
    for tick in axis.ticks(0, most, 4, whole=True):
        body.append(svg.line(left, y(tick), right, y(tick)))
        body.append(svg.text(left - 6, y(tick) + 4, axis.label(tick), 10.5, "end", "muted"))
    for tick in axis.ticks(LOW, HIGH, 7):
        shown = {LOW: f"≤ {axis.label(tick)}", HIGH: f"≥ {axis.label(tick)}"}.get(tick, axis.label(tick))
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
