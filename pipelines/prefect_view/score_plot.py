"""The plot of the scores of the last runs, as a PNG small enough for an artifact."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pipelines.history.scores import Run

# Beside the colours, to distinguish lines that meet.
MARKERS = "os^DvP*X"
COLOURS = ("#1f5f8b", "#b5541c", "#3b7d3b", "#7a4a9c", "#8a6d1f", "#555555", "#c23b6b", "#2b8c8c")
# Panels of one plot, and systems of one panel; the table has all of them.
MOST_PANELS, MOST_SYSTEMS = 6, len(COLOURS)

# Benchmark, track and metric.
Panel = tuple[str, str, str]


def png(runs: Sequence[Run]) -> bytes:
    """A panel a benchmark, track and metric; a line a system over the runs, with intervals. Runs must not be empty."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = _first_of_each(list(dict.fromkeys(_panel(row) for run in runs for row in run.rows)))[
        :MOST_PANELS
    ]
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(5.2 * columns + 1.8, 3.4 * lines), layout="constrained")
    FigureCanvasAgg(figure)
    for number, panel in enumerate(panels):
        _draw(figure.add_subplot(lines, columns, number + 1), runs, panel)
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside right center", fontsize=12, frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=90, metadata={"Software": None})
    return buffer.getvalue()


def _panel(row: dict[str, Any]) -> Panel:
    return row["benchmark"], row["track"], row["metric"]


def _first_of_each(panels: Sequence[Panel]) -> list[Panel]:
    """The first panel of each benchmark, then the second of each, and so on."""
    seen: Counter[str] = Counter()
    ranks = []
    for panel in panels:
        ranks.append(seen[panel[0]])
        seen[panel[0]] += 1
    return [panel for _, panel in sorted(zip(ranks, panels, strict=True), key=lambda pair: pair[0])]


def _width(low: float | None, high: float | None) -> float:
    """How far an end is from its value; nothing where there is no interval."""
    return 0.0 if low is None or high is None else max(high - low, 0.0)


def _draw(axes: Any, runs: Sequence[Run], panel: Panel) -> None:
    systems = list(dict.fromkeys(row["system"] for run in runs for row in run.rows if _panel(row) == panel))
    for number, system in enumerate(systems[:MOST_SYSTEMS]):
        points = [
            (place, row)
            for place, run in enumerate(runs)
            for row in run.rows
            if _panel(row) == panel and row["system"] == system
        ]
        values = [row["value"] for _, row in points]
        below = [_width(row["low"], row["value"]) for _, row in points]
        above = [_width(row["value"], row["high"]) for _, row in points]
        # Side by side, so that intervals do not hide one another.
        shift = 0.09 * (number - (len(systems[:MOST_SYSTEMS]) - 1) / 2)
        axes.errorbar(
            [place + shift for place, _ in points],
            values,
            yerr=[below, above],
            label=system,
            color=COLOURS[number],
            marker=MARKERS[number],
            markersize=6,
            linewidth=1.2,
            elinewidth=0.8,
            capsize=2,
        )
    axes.set_title(" · ".join(panel), fontsize=13)
    axes.set_xticks(range(len(runs)))
    # Without the year, there is room for six of them side by side.
    axes.set_xticklabels([run.title[len("2026-") :].replace(" ", "\n") for run in runs], fontsize=10)
    axes.set_xlim(-0.5, len(runs) - 0.5)
    axes.tick_params(axis="y", labelsize=11)
    axes.grid(axis="y", linewidth=0.4, alpha=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
