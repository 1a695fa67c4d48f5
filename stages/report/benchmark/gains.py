"""Gains per task over the best baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.sections import initial
from stages.report.plots import kinds
from stages.report.plots.spec import Plot
from stages.report.read.benchmark_results import Rows


def plots(card: Benchmark, improvements: Rows, roles: Mapping[str, str]) -> dict[str, Plot]:
    """The gains of each task over its best baseline, of rows of contracts.IMPROVEMENTS; by the title of the track."""
    by_track: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for row in sorted(improvements, key=lambda row: row["track"]):
        by_track.setdefault(row["track"], {}).setdefault(row["system"], []).append(row)
    track_plots = {}
    for track, systems in by_track.items():
        metric = card.metric(next(iter(systems.values()))[0]["metric"])
        title = f"{initial(card.track_title(track))}, {metric.title}"
        track_plots[title] = kinds.gains(f"gains-{card.name}-{track}", metric, systems, roles)
    return track_plots
