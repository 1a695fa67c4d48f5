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
    printed,
    references_option,
    samples_option,
)
from pipelines.commands.scores_shown import ALL, card_of, say_head
from pipelines.project.intervals import interval

# Metrics that a table shows as columns; more are rows.
MOST_COLUMNS = 8


def _rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    from nightjar.benchmarks.score import score_rows

    return score_rows(result)


def _print(result: dict[str, Any]) -> None:
    card, rows = card_of(result), _rows(result)
    left_out = ", left out" if card.files.unanswered == "left out" else ""
    say_head(result, f", {result['missing']} without a prediction{left_out}" if result["missing"] else "")
    if card.files.by_task:
        average = [rows.pop()] if "average" in result else []
        _print_tasks(_lines(result, rows, ["track"]))
        if average:
            say()
            say_table(_lines(result, average, []))
        return
    tracks = ["track"] if len(result["tracks"]) > 1 else []
    if len(result["metrics"]) > MOST_COLUMNS:
        order = [metric.name for metric in card.metrics]
        overall = [row for row in rows if row["level"] == "overall"]
        overall.sort(key=lambda row: order.index(row["metric"]))
        say_table([_by_metric(result, row, tracks) for row in overall])
        return
    for level in ("overall", "category", "task"):
        names = [*tracks, *([level] if level != "overall" else [])]
        if own := [row | {level: row["name"]} for row in rows if row["level"] == level]:
            if level != "overall":
                say()
            _print_union(_lines(result, own, names))
    if tracks:
        say()
        say(ALL)
        whole = _rows({key: value for key, value in result.items() if key != "by_track"})
        say_table(_lines(result, [row for row in whole if row["level"] == "overall"], []))


def _lines(
    result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """A line for the rows with the same `names`, with a column for each metric; a category has its own metric, too.

    A score with an interval is "58.90 [52.50, 65.00]", or "58.90 (n = 8, too few)".
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        line = found.setdefault(tuple(row[name] for name in names), {name: row[name] for name in names})
        line["n"] = row["n"]
        if "category" in names:
            line["metric"] = card_of(result).main_metric(row["category"]).name
        value = row["value"]
        line[row["metric"]] = f"{value:.2f} {interval(row, '.2f')}" if "intervals" in result else value
    return list(found.values())


def _print_tasks(lines: Sequence[dict[str, Any]]) -> None:
    """One row a task. Where the tasks have many metrics, each has its main one in a column that all share."""
    rows = [{"task": line.pop("track"), "n": line.pop("n")} | line for line in lines]
    if len({name for row in rows for name in row}) > MOST_COLUMNS:
        for place, (row, line) in enumerate(zip(rows, lines, strict=True)):
            main, score = next(iter(line.items()))
            others = {name: value for name, value in line.items() if name != main}
            rows[place] = {"task": row["task"], "n": row["n"], "metric": main, "score": score, **others}
    _print_union(rows)


def _print_union(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a table in which a row may lack columns of others."""
    names = dict.fromkeys(name for row in rows for name in row)
    say_table([{name: row.get(name, "") for name in names} for row in rows])


def _by_metric(result: Mapping[str, Any], row: Mapping[str, Any], tracks: Sequence[str]) -> dict[str, Any]:
    """The line of a metric, for a benchmark with too many of them for columns; without categories and tasks."""
    form = ".2f" if card_of(result).metric(row["metric"]).range[1] > 1 else ".4f"
    line = {name: row[name] for name in (*tracks, "metric", "n")} | {"value": f"{row['value']:{form}}"}
    return line | ({"95% interval": interval(row, form)} if "intervals" in result else {})


@click.command()
@benchmark_option
@click.option("--predictions", required=True, type=FILE, help=PREDICTIONS)
@references_option
@click.option("--details", type=FILE, help="Write one JSON line an instance to this file.")
@encoder_option
@samples_option(0)
@printed(_print, _rows)
def score(
    benchmark: str,
    predictions: Path,
    references: Path | None,
    details: Path | None,
    encoder: Path | None,
    samples: int,
) -> dict[str, Any]:
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
    from nightjar.benchmarks.score import score_files

    return score_files(benchmark, predictions, references, details, samples, encoder)
