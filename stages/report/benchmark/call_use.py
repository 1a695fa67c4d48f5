"""The tool calls that a benchmark's systems made in their answers, and the scores with and without a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.aggregate import ByCall, called, split_by_call
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.scores import SystemScores
from nightjar.benchmarks.sections import Cell, Value, initial
from nightjar.core import contracts, tables
from nightjar.statistics.metric import Metric
from stages.report import numbers
from stages.report.read.benchmark_results import Rows

COLUMNS = ("all", "with a call", "without a call", "calling (%)")


@dataclass(frozen=True)
class Answers:
    """By system: the predictions with a call, how many of these are right, and the number of all."""

    called: Mapping[str, Rows]
    right: Mapping[str, int]
    counts: Mapping[str, int]


def read(card: Benchmark, systems: Sequence[str], predicted: Path, scores: Sequence[SystemScores]) -> Answers:
    """The answers of `systems`, whose predictions are folders in `predicted`."""
    right = {system_scores.system: _right(card, system_scores) for system_scores in scores}
    prediction_rows = {
        system: tables.read_rows(predicted / system, contracts.PREDICTIONS, ["task_id", "id", "calls"])
        for system in systems
    }
    called_rows = {system: [row for row in rows if row["calls"]] for system, rows in prediction_rows.items()}
    return Answers(
        called_rows,
        {
            system: sum((row["task_id"], row["id"]) in right.get(system, ()) for row in rows)
            for system, rows in called_rows.items()
        },
        {system: len(rows) for system, rows in prediction_rows.items()},
    )


def _right(card: Benchmark, scores: SystemScores) -> set[tuple[str, str]]:
    """The instances with a right answer."""
    values = scores.parts.get(card.right, ())
    return {key.instance for key, value in zip(scores.keys, values, strict=False) if value == 1}


def of(
    card: Benchmark, scores: Sequence[SystemScores], models: Sequence[str], answers: Answers
) -> list[ByCall]:
    """A row a track and system, if the card has published tables by call or any answer has a call; else none."""
    if not any(table.calls for table in card.papers.tables) and not any(answers.called.values()):
        return []
    by_name = {system_scores.system: system_scores for system_scores in scores}
    order = {track: at for at, track in enumerate(card.tracks)}
    lines = [
        line
        for system in models
        if system in by_name
        for line in split_by_call(card, by_name[system], called(answers.called[system]))
    ]
    return sorted(lines, key=lambda line: order.get(line.track, len(order)))


def values(metric: Metric, *scores: float | None) -> list[Cell]:
    """Values of the metric; None where there are no such answers."""
    return [None if score is None else Value(metric, score) for score in scores]


def cells(line: ByCall) -> list[Cell]:
    """The three scores and the share of answers with a call."""
    return [*values(line.metric, line.everything, line.with_call, line.without_call), f"{line.share:.1f}"]


def context(
    card: Benchmark, answers: Answers, may_call: Mapping[str, bool], lines: Sequence[ByCall]
) -> dict[str, Any]:
    """Return a row a system with its counts, and the scores by call.

    `may_call` says of each system whether its decoding calls tools.
    """
    calls = [call for rows in answers.called.values() for row in rows for call in row["calls"]]
    return {
        "any": bool(calls),
        "with_result": any(call["result"] is not None for call in calls),
        "judged": bool(card.right),
        "systems": [_counts(answers, system, may_call[system]) for system in answers.called],
        "columns": COLUMNS,
        "by_call": [_by_call(card, line) for line in lines],
    }


def _by_call(card: Benchmark, line: ByCall) -> tuple[Cell, ...]:
    tools = ", ".join(f"{name} {100 * n / line.n:.1f}" for name, n in sorted(line.tools.items()))
    title = initial(card.track_title(line.track))
    return title, line.system, numbers.heading(line.metric), line.n, *cells(line), tools or None


def _counts(answers: Answers, system: str, may_call: bool) -> dict[str, Any]:
    """The row of a system by the titles of the columns."""
    called_rows = answers.called[system]
    calls = [call for row in called_rows for call in row["calls"]]
    tools = sorted({call["tool"] for call in calls})
    by_tool = (f"{tool} {sum(call['tool'] == tool for call in calls):,}" for tool in tools)
    return {
        "system": system,
        "may call": may_call,
        "answers": answers.counts[system],
        "answers with a call": len(called_rows) or "none",
        "calls": len(calls),
        "calls with a result": sum(call["result"] is not None for call in calls),
        "right answers with a call": answers.right[system],
        "by tool": ", ".join(by_tool) or None,
    }
