"""The plot of the scores of the last runs, as a PNG small enough for an artifact."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pandas as pd

from pipelines.history.scores import Run

# A panel of the plot.
PANEL = ["benchmark", "track", "metric"]
# Panels of one plot, and systems of one panel; the table has all of them.
MOST_PANELS, MOST_SYSTEMS = 6, 8
# Beside the colours, to distinguish lines that meet.
MARKERS = "os^DvP*X"


def png(runs: Sequence[Run]) -> bytes:
    """A panel a benchmark, track and metric; a line a system over the runs, with intervals. Runs must not be empty."""
    from matplotlib.figure import Figure

    rows = pd.DataFrame([{**row, "run": place} for place, run in enumerate(runs) for row in run.rows])
    # Every benchmark has a panel before one has two.
    panels = rows[PANEL].drop_duplicates()
    panels = panels.iloc[panels.groupby("benchmark").cumcount().argsort(kind="stable")][:MOST_PANELS]
    figure = Figure(figsize=(12, 3.4 * -(-len(panels) // 2)), layout="constrained")
    for number, panel in enumerate(panels.itertuples(index=False)):
        axes = figure.add_subplot(-(-len(panels) // 2), 2, number + 1)
        _draw(axes, rows[(rows[PANEL] == list(panel)).all(axis=1)])
        axes.set_title(" · ".join(panel))
        # Without the year, there is room for six of them side by side.
        axes.set_xticks(range(len(runs)), [run.title[5:].replace(" ", "\n") for run in runs])
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=80, metadata={"Software": None})
    return buffer.getvalue()


def _draw(axes: Any, rows: pd.DataFrame) -> None:
    systems = list(rows.groupby("system", sort=False))[:MOST_SYSTEMS]
    for number, (system, points) in enumerate(systems):
        ends = points[["low", "high"]].astype(float).sub(points["value"], axis=0).abs().fillna(0.0)
        # Side by side, so that intervals do not hide one another.
        places = points["run"] + 0.09 * (number - (len(systems) - 1) / 2)
        axes.errorbar(places, points["value"], yerr=ends.T, label=system, marker=MARKERS[number], capsize=2)
    axes.legend(fontsize=8, frameon=False)
