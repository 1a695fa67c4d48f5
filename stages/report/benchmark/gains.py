"""Gains per task over the best baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.sections import Block, Gains, Paragraph, Section, initial
from nightjar.statistics.bootstrap import CONFIDENCE
from stages.report.read.benchmark_results import Rows


def section(card: Benchmark, improvements: Rows) -> Section | None:
    """For each track the gains of each task over its best baseline, of rows of contracts.IMPROVEMENTS; None if none."""
    by_track: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for row in sorted(improvements, key=lambda row: row["track"]):
        by_track.setdefault(row["track"], {}).setdefault(row["system"], []).append(row)
    if not by_track:
        return None
    blocks: list[Block] = []
    for track, systems in by_track.items():
        metric = card.metric(next(iter(systems.values()))[0]["metric"])
        plot = Gains(f"gains-{card.name}-{track}", metric, systems)
        blocks += [Paragraph(f"**{initial(card.track_title(track))}, {metric.title}**"), plot]
    explanation = (
        "The score of each task minus that of the best baseline there. Tasks with the largest mean gain come first; "
        f"lines are {CONFIDENCE:.0%} intervals over the task's instances, where there are enough."
    )
    return Section("gains", "Gains per task", [Paragraph(explanation), *blocks])
