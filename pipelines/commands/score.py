"""The command `score`: anybody's predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from nightjar.core.display import number
from pipelines.commands.console import say, say_table
from pipelines.commands.options import (
    FILE,
    OUTPUT,
    PREDICTIONS,
    benchmark_option,
    encoder_option,
    printed,
    references_option,
    samples_option,
)
from pipelines.commands.scores_shown import ALL, card_of, say_head
from pipelines.project.text import interval

# A table with more columns has a row a metric instead.
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
        _say_scores(result, [row | {"task": row["track"]} for row in rows], ["task"])
        if average:
            say()
            _say_scores(result, average, [])
        return
    tracks = ["track"] if len(result["tracks"]) > 1 else []
    rows = [row | {"track": card_of(result).track_title(row["track"])} for row in rows]
    many = len(result["metrics"]) > MOST_COLUMNS
    for level in ("overall",) if many else ("overall", "category", "task"):
        if own := [row | {level: row["name"]} for row in rows if row["level"] == level]:
            if level != "overall":
                say()
            _say_scores(result, own, [*tracks, *([level] if level != "overall" else [])])
    if tracks and not many:
        say()
        say(ALL)
        whole = _rows({key: value for key, value in result.items() if key != "by_track"})
        _say_scores(result, [row for row in whole if row["level"] == "overall"], [])


def _say_scores(result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    """Print a line for the rows with the same `names`, with a column for each metric; a category has its own metric,
    too. If these are more than MOST_COLUMNS, each row has a line of its own.

    A score with an interval is "58.90 [52.50, 65.00]", or "58.90 n<20".
    """
    card, lines = card_of(result), dict[tuple[Any, ...], dict[str, Any]]()
    for row in rows:
        line = lines.setdefault(tuple(row[name] for name in names), {name: row[name] for name in names})
        line["n"] = row["n"]
        if "category" in names:
            line["metric"] = card.main_metric(row["category"]).name
        line[row["metric"]] = _value(result, row, 2)
    columns = dict.fromkeys(name for line in lines.values() for name in line)
    if len(columns) <= MOST_COLUMNS:
        right = columns.keys() - {*names, "metric"}
        say_table([{name: line.get(name, "") for name in columns} for line in lines.values()], right=right)
        return
    single = []
    for row in rows:
        decimals = 2 if card.metric(row["metric"]).range[1] > 1 else 4
        single.append(
            {name: row[name] for name in (*names, "metric", "n")} | {"value": _value(result, row, decimals)}
        )
    say_table(single, right=("value",))


def _value(result: Mapping[str, Any], row: Mapping[str, Any], decimals: int) -> str:
    return number(row["value"], decimals) + (f" {interval(row, decimals)}" if "intervals" in result else "")


@click.command()
@benchmark_option
@click.option("--predictions", required=True, type=FILE, help=PREDICTIONS)
@references_option
@click.option("--details", type=OUTPUT, help="Write one JSON line an instance to this file.")
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
    in the units of their metrics, with 95% intervals over instances (none with --samples 0, and n<20 for fewer than 20
    instances): exact ones of proportions, else bootstrapped. An instance without a prediction is counted; it scores as
    an empty answer, or is left out where the benchmark was published so. Each track or task has its own scores, as
    published; those of all tracks together come last, and are not in the CSV, which has the columns track, level, name,
    metric, n, value, low, high.

    \b
    Example:
      nightjar score --benchmark supernatinst --predictions mine.jsonl --references references.jsonl --json
      nightjar score --benchmark protoqa --predictions ranked.jsonl --references dev.crowdsourced.jsonl
    """
    from nightjar.benchmarks.score import score_files

    return score_files(benchmark, predictions, references, details, samples, encoder)
