"""Scores of the answers with and without a tool call, and the share of answers that called each tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightjar.benchmarks.aggregate import by_track, estimate
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.scores import SystemScores, from_rows
from nightjar.core import contracts, tables
from stages.report import numbers
from stages.report.answers import Answers
from stages.report.results import Rows


@dataclass(frozen=True)
class ByCall:
    """The answers of a system to the questions of a track, by the track's first metric.

    `with_call` and `without_call` are None where there are no such answers; `called` of `n` answers have a call.
    `tools` counts the answers that called a tool, by its name.
    """

    track: str
    system: str
    metric: Metric
    everything: float
    with_call: float | None
    without_call: float | None
    n: int
    called: int
    tools: Mapping[str, int]

    def cells(self) -> list[str]:
        """The three scores and the share of answers with a call, as texts."""
        values = (self.everything, self.with_call, self.without_call)
        return [*(score(self.metric, value) for value in values), percent(self.called, self.n)]


def score(metric: Metric, value: float | None) -> str:
    """A value of the metric; a dash for None."""
    return "–" if value is None else numbers.value(metric, value)


def percent(part: int, whole: int) -> str:
    """`part` of `whole` in percent, without the sign."""
    return f"{100 * part / whole:.1f}"


def read(card: Card, scored: Path, models: Sequence[str], found: Answers) -> list[ByCall]:
    """A row a track and system, if the card has published tables or any answer has a call; else none.

    `scored` is an artifact of the stage evaluate. Tracks whose questions are not answered by a text have no row.
    """
    if not card.tables and not any(found.called.values()):
        return []
    columns = ["system", "track", "category", "task_id", "id", "metric", "value"]
    rows: Rows = tables.read_rows(scored, contracts.INSTANCE_SCORES, columns)
    by_name = {one.system: one for one in from_rows(rows)}
    order = {track: at for at, track in enumerate(card.tracks)}
    lines = [
        line
        for system in models
        if system in by_name
        for line in _lines(card, by_name[system], found.called[system])
    ]
    return sorted(lines, key=lambda line: order.get(line.track, len(order)))


def _lines(card: Card, scores: SystemScores, called: Rows) -> list[ByCall]:
    tools = {(row["task_id"], row["id"]): {call["tool"] for call in row["calls"]} for row in called}
    lines = []
    for track, places in by_track(scores).items():
        written = [at for at in places if card.task(scores.keys[at].task_id).kind == "generate"]
        metric = next((it for it in card.metrics if len(scores.of(it, written))), None)
        if metric is None:
            continue
        with_call = [at for at in written if scores.keys[at].instance in tools]
        without = [at for at in written if scores.keys[at].instance not in tools]
        everything, *split = (_estimate(metric, scores, group) for group in (written, with_call, without))
        if everything is None:
            continue
        counts = Counter(name for at in with_call for name in sorted(tools[scores.keys[at].instance]))
        lines.append(
            ByCall(track, scores.system, metric, everything, *split, len(written), len(with_call), counts)
        )
    return lines


def _estimate(metric: Metric, scores: SystemScores, places: Sequence[int]) -> float | None:
    values = scores.of(metric, places)
    return estimate(metric, values) if len(values) else None


def context(card: Card, lines: Sequence[ByCall]) -> list[dict[str, object]]:
    """What the templates show: a row a track and system."""
    return [
        {
            "track": numbers.initial(card.track_title(line.track)),
            "system": line.system,
            "metric": numbers.heading(line.metric),
            "n": numbers.count(line.n),
            "cells": line.cells(),
            "tools": ", ".join(f"{name} {percent(n, line.n)}" for name, n in sorted(line.tools.items())),
        }
        for line in lines
    ]
