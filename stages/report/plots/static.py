"""A plot as SVG by matplotlib: for print, for pages without scripts, and as a file. Equal plots have equal bytes."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from nightjar.core.display import printable
from stages.report.plots.spec import Panel, Plot

_STYLE = (
    (Path(__file__).parents[1] / "assets" / "style.css").read_text(encoding="utf-8").partition("\n* {")[0]
)
# The colours of light pages by the names of the style.
COLOURS = dict(re.findall(r"--(\w+): (#\w{6});", _STYLE.partition("@media")[0]))
_MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^", "star": "*"}
# Pixels of the whole drawing, and of a panel's title and axis; matplotlib counts in inches of 72 points.
_WIDTH, _AROUND, _DPI = 960.0, 62.0, 72.0
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "nightjar",
    "font.size": 9,
    "font.family": "sans-serif",
    "text.parse_math": False,
}


def drawn(plot: Plot) -> str:
    """The plot as a file of its own, whose colours follow the reader's light or dark scheme."""
    columns = max(1, min(len(plot.panels), int(_WIDTH // (0.8 * plot.least))))
    rows = [plot.panels[at : at + columns] for at in range(0, len(plot.panels), columns)]
    heights = [max(it.height for it in row) + _AROUND for row in rows]
    top = 22.0 if plot.legend else 0.0
    total = sum(heights) + top
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(_WIDTH / _DPI, total / _DPI), dpi=_DPI)
        FigureCanvasSVG(figure)
        above = top
        for row, height in zip(rows, heights, strict=True):
            for at, panel in enumerate(row):
                label_width = _label_width(panel)
                box = (
                    _WIDTH / columns * at + label_width,
                    above + 32,
                    _WIDTH / columns - label_width - 24,
                    panel.height,
                )
                _panel(figure, panel, box, total)
            above += height
        for at, (colour, symbol, text) in enumerate(plot.legend):
            x, y = (12 + at * 150) / _WIDTH, 1 - 10 / total
            figure.text(x, y, printable(text), va="center", color=COLOURS["ink"])
            axes = figure.add_axes((x - 8 / _WIDTH, y - 4 / total, 8 / _WIDTH, 8 / total))
            axes.plot([0], [0], _MARKERS[symbol], color=COLOURS[colour], markersize=5)
            axes.axis("off")
        svg_file = io.StringIO()
        figure.savefig(svg_file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = svg_file.getvalue()
    for name, colour in COLOURS.items():
        text = text.replace(colour, f"var(--{name})")
    rules = "svg { background: var(--paper); } text { font-family: system-ui, sans-serif !important; }"
    style = f"<style>\n{_STYLE}\n{rules}\n</style>"
    return re.sub(
        r"(<svg[^>]*>)", lambda svg_tag: svg_tag.group(1) + style, text[text.index("<svg") :], count=1
    )


def _label_width(panel: Panel) -> float:
    """The pixels that the labels of the axis y need."""
    return min(260.0, 7 + 5.6 * max((len(text) for _, text in panel.y.labels), default=6))


def _panel(figure: Figure, panel: Panel, box: tuple[float, float, float, float], total: float) -> None:
    x_offset, top, width, height = box
    start = 4 - _label_width(panel)
    axes = figure.add_axes((x_offset / _WIDTH, 1 - (top + height) / total, width / _WIDTH, height / total))
    axes.set_xlim(panel.x.low, panel.x.high)
    axes.set_ylim(panel.y.low, panel.y.high)
    above = matplotlib.transforms.Affine2D().scale(1 / width, 1 / height) + axes.transAxes
    axes.text(
        start, height + 17, printable(panel.title), transform=above, weight="bold", color=COLOURS["ink"]
    )
    axes.text(start, height + 5, printable(panel.note), transform=above, color=COLOURS["muted"])
    for side in axes.spines.values():
        side.set_visible(False)
    for axis_spec, axis in ((panel.x, axes.xaxis), (panel.y, axes.yaxis)):
        axis.set_tick_params(length=0, labelcolor=COLOURS["muted"])
        if axis_spec.labels:
            axis.set_ticks(
                [at for at, _ in axis_spec.labels], [printable(text) for _, text in axis_spec.labels]
            )
        elif axis_spec.hidden:
            axis.set_ticks([])
        else:
            axis.grid(True, color=COLOURS["line"], linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel(printable(panel.x.title), color=COLOURS["muted"], fontsize=8.5)
    if not panel.y.labels and panel.y.title:
        axes.set_ylabel(printable(panel.y.title), color=COLOURS["muted"], fontsize=8.5)
    for mark in panel.marks:
        for row in mark.rows:
            _MARKS[mark.kind](axes, row, COLOURS[row["colour"]])


def _rect(axes: Axes, row: Mapping[str, Any], colour: str) -> None:
    x, y = row["x1"], row["y1"]
    edge = COLOURS[row["edge"]] if "edge" in row else "none"
    axes.add_patch(
        matplotlib.patches.Rectangle((x, y), row["x2"] - x, row["y2"] - y, facecolor=colour, edgecolor=edge)
    )


def _text(axes: Axes, row: Mapping[str, Any], colour: str) -> None:
    weight = "bold" if row["bold"] else "normal"
    axes.text(
        row["x"],
        row["y"],
        printable(row["text"]),
        ha="center",
        va="center",
        color=colour,
        fontsize=8,
        weight=weight,
    )


def _line(axes: Axes, row: Mapping[str, Any], colour: str) -> None:
    axes.plot(row["x"], row["y"], color=colour, linewidth=1.4)


def _link(axes: Axes, row: Mapping[str, Any], colour: str) -> None:
    style = "--" if row.get("dashed") else "-"
    ends = ([row["x1"], row["x2"]], [row["y1"], row["y2"]])
    axes.plot(*ends, color=colour, linewidth=row.get("width", 1.6), linestyle=style)


def _dot(axes: Axes, row: Mapping[str, Any], colour: str) -> None:
    if math.isfinite(row["y"]):
        axes.plot([row["x"]], [row["y"]], _MARKERS[row["symbol"]], color=colour, markersize=5, clip_on=False)


_MARKS = {"rect": _rect, "text": _text, "line": _line, "link": _link, "dot": _dot}
