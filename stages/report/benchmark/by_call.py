"""Scores of the answers with and without a tool call, and the share of answers that called each tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nightjar.benchmarks.by_call import ByCall, called, split_by_call
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.scores import SystemScores
from stages.report import numbers
from stages.report.benchmark.answers import Answers


def of(card: Card, scores: Sequence[SystemScores], models: Sequence[str], found: Answers) -> list[ByCall]:
    """A row a track and system, if the card has published tables by call or any answer has a call; else none."""
    if not any(table.calls for table in card.papers.tables) and not any(found.called.values()):
        return []
    by_name = {one.system: one for one in scores}
    order = {track: at for at, track in enumerate(card.tracks)}
    lines = [
        line
        for system in models
        if system in by_name
        for line in split_by_call(card, by_name[system], called(found.called[system]))
    ]
    return sorted(lines, key=lambda line: order.get(line.track, len(order)))


def cells(line: ByCall) -> list[str]:
    """The three scores and the share of answers with a call, as texts."""
    values = (line.everything, line.with_call, line.without_call)
    return [*(score(line.metric, value) for value in values), f"{line.share:.1f}"]


def score(metric: Metric, value: float | None) -> str:
    """A value of the metric; a dash for None."""
    return "–" if value is None else numbers.value(metric, value)


def context(card: Card, lines: Sequence[ByCall]) -> list[dict[str, Any]]:
    """What the templates show: a row a track and system."""
    return [
        {
            "track": numbers.initial(card.track_title(line.track)),
            "system": line.system,
            "metric": numbers.heading(line.metric),
            "n": numbers.count(line.n),
            "cells": cells(line),
            "tools": ", ".join(f"{name} {100 * n / line.n:.1f}" for name, n in sorted(line.tools.items())),
        }
        for line in lines
    ]
