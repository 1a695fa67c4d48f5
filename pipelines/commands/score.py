"""The command `score`: anybody's predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from pipelines.commands.console import say, say_table
from pipelines.commands.options import (
    FILE,
    PREDICTIONS,
    benchmark_option,
    encoder_option,
    references_option,
)
from pipelines.commands.scores_shown import (
    ALL,
    card_of,
    check_form,
    form_options,
    say_as,
    say_head,
    track_column,
)
from pipelines.project.intervals import interval

# Metrics that a table shows as columns; more are rows.
MOST_COLUMNS = 8


@click.command()
@benchmark_option
@click.option("--predictions", required=True, type=FILE, help=PREDICTIONS)
@references_option
@click.option("--details", type=FILE, help="Write one JSON line an instance to this file.")
@encoder_option
@form_options(least_samples=0)
def score(
    benchmark: str,
    predictions: Path,
    references: Path | None,
    details: Path | None,
    encoder: Path | None,
    samples: int,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Score anybody's predictions; nothing of the pipeline is needed.

    A prediction is a line {"id": "...", "prediction": "..."}, with a key `task` where a benchmark's tasks have scores
    of their own; other keys are ignored. A benchmark whose dataset has forms of its own reads these instead. Scores are
    in the units of their metrics, with 95% bootstrap intervals over instances (none with --samples 0, and none of fewer
    than 20 instances). An instance without a prediction is counted; it scores as an empty answer, or is left out where
    the benchmark was published so. Each track or task has its own scores, as published; those of all tracks together
    come last, and are not in the CSV, which has the columns track, level, name, metric, n, value, low, high.

    \b
    Example:
      nightjar score --benchmark supernatinst --predictions mine.jsonl --references references.jsonl --json
      nightjar score --benchmark protoqa --predictions ranked.jsonl --references dev.crowdsourced.jsonl
    """
    from nightjar.benchmarks.score import score_files, score_rows

    check_form(as_json, as_csv)
    result = score_files(benchmark, predictions, references, details, samples, encoder)
    say_as(result, as_json, as_csv, score_rows, _print)


def _print(result: dict[str, Any]) -> None:
    from nightjar.benchmarks.score import parts

    card, by_track = card_of(result), parts(result)
    left_out = ", left out" if card.files.unanswered == "left out" else ""
    say_head(result, f", {result['missing']} without a prediction{left_out}" if result["missing"] else "")
    if card.files.by_task:
        _print_tasks(by_track)
        if found := result.get("average"):
            ends = None if found["low"] is None else (found["low"], found["high"])
            say()
            name = card.average.name
            say_table([_shown({"n": found["n"], name: found["value"]}, {name: ends})])
        return
    if len(result["metrics"]) > MOST_COLUMNS:
        _print_by_metric(result, card.metrics, by_track)
        return
    say_table([track_column(track, result) | _scores(part) for track, part in by_track.items()])
    for level in ("category", "task"):
        rows = [
            track_column(track, result) | {level: name} | _shown(row, _ends(part, f"by_{level}").get(name))
            for track, part in by_track.items()
            for name, row in part[f"by_{level}"].items()
        ]
        if rows:
            say()
            _print_union(rows)
    if len(by_track) > 1:
        say()
        say(ALL)
        say_table([_scores(result)])


def _print_tasks(by_task: Mapping[str, Any]) -> None:
    """One row a task. Where the tasks have many metrics, each has its main one in a column that all share."""
    rows = [{"task": task} | _scores(part) for task, part in by_task.items()]
    if len({name for row in rows for name in row}) > MOST_COLUMNS:
        mains = [next(iter(part["metrics"]), "") for part in by_task.values()]
        rows = [
            {
                "task": row.pop("task"),
                "n": row.pop("n"),
                "metric": main,
                "score": row.pop(main, ""),
                **row,
            }
            for row, main in zip(rows, mains, strict=True)
        ]
    _print_union(rows)


def _print_union(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a table in which a row may lack columns of others."""
    names = dict.fromkeys(name for row in rows for name in row)
    say_table([{name: row.get(name, "") for name in names} for row in rows])


def _print_by_metric(result: Mapping[str, Any], metrics: Sequence[Any], by_track: Mapping[str, Any]) -> None:
    """One row a metric, for a benchmark with too many of them for columns; without categories and tasks."""
    rows = []
    for metric in metrics:
        digits = 2 if metric.range[1] > 1 else 4
        for track, part in by_track.items():
            if metric.name not in part["metrics"]:
                continue
            value = f"{part['metrics'][metric.name]:.{digits}f}"
            row = {"metric": metric.name, "n": part["n"], "value": value}
            if "intervals" in part:
                ends = _ends(part, "metrics")[metric.name]
                row["95% interval"] = _between(ends, part["n"], digits) if ends else "too few"
            rows.append(track_column(track, result) | row)
    say_table(rows)


def _scores(part: Mapping[str, Any]) -> dict[str, Any]:
    return _shown({"n": part["n"]} | part["metrics"], _ends(part, "metrics"))


def _ends(part: Mapping[str, Any], level: str) -> dict[str, Any]:
    ends: dict[str, Any] = part.get("intervals", {}).get(level, {})
    return ends


def _shown(row: dict[str, Any], ends: Mapping[str, Sequence[float] | None] | None) -> dict[str, Any]:
    """The row with every score as "58.90 [52.50, 65.00]", or "58.90 (n = 8, too few)" where it has no interval."""
    known = ends or {}
    return {
        key: f"{value:.2f} {_between(known[key], row['n'])}" if key in known else value
        for key, value in row.items()
    }


def _between(ends: Sequence[float] | None, n: int, digits: int = 2) -> str:
    low, high = ends or (None, None)
    return interval({"low": low, "high": high, "n": n}, f".{digits}f")
