"""The command `compare`: two prediction sets on the same instances."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from nightjar.core.display import number
from pipelines.commands.console import say, say_table
from pipelines.commands.options import (
    FILE,
    PREDICTIONS,
    benchmark_option,
    printed,
    references_option,
    samples_option,
)
from pipelines.commands.scores_shown import ALL, card_of, say_head
from pipelines.project.text import chance, interval


def _rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    from nightjar.benchmarks.score import difference_rows

    return difference_rows(result)


def _print(result: dict[str, Any]) -> None:
    from nightjar.benchmarks.score import parts

    card, by_track = card_of(result), parts(result)
    lacking = [
        f", {count} without a prediction in {name}" for name, count in result["missing"].items() if count
    ]
    say_head(result, "".join(lacking))
    if card.files.by_task:
        lines = [{"task": task} | line for task, part in by_track.items() for line in _lines(part)]
        if found := result.get("average"):
            lines.append({"task": "", "metric": card.average.name, **_line(found)})
        say_table(lines)
        return
    for track, part in by_track.items():
        say_table(_lines(part), card_of(result).track_title(track) if len(by_track) > 1 else "")
        say()
    rows = [
        ({"track": card_of(result).track_title(track)} if len(by_track) > 1 else {})
        | {"category": name, "metric": cell["metric"], **_line(cell[cell["metric"]])}
        for track, part in by_track.items()
        for name, cell in part["by_category"].items()
    ]
    say_table(rows, "by category, each by the metric that is published for it")
    if len(by_track) > 1:
        say()
        say(ALL)
        say_table(_lines(result))


def _lines(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"metric": metric, **_line(cell)} for metric, cell in part["metrics"].items()]


def _line(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "a": cell["a"],
        "b": cell["b"],
        "a - b": number(cell["value"], 2, signed=True),
        "interval": interval(cell, 2, signed=True),
        "p": chance(cell),
        "significant": "yes" if cell["significant"] else "no",
        **{key: "" if cell[key] is None else cell[key] for key in ("better", "worse", "equal")},
    }


@click.command()
@benchmark_option
@click.option("--a", "a", required=True, type=FILE, help=PREDICTIONS)
@click.option("--b", "b", required=True, type=FILE, help="The same, of the other system.")
@references_option
@samples_option(1)
@printed(_print, _rows)
def compare(benchmark: str, a: Path, b: Path, references: Path | None, samples: int) -> dict[str, Any]:
    """Compare two prediction sets on the same instances: a minus b.

    Differences are in the units of their metrics, with 95% bootstrap intervals over pairs and the two-sided p of a
    permutation test; both are n<20 for fewer than 20 instances. A difference is significant if p is at most 0.05.
    Better, worse and equal count instances. The p of categories are not corrected for their number. Each track or task
    is compared alone, all tracks together last. The CSV has each track alone, with the columns track, level, name,
    metric, n, a, b, difference, low, high, p, better, worse, equal.

    \b
    Example:
      nightjar compare --benchmark supernatinst --a mine.jsonl --b yours.jsonl --references references.jsonl
      nightjar compare --benchmark supernatinst --a data/predict/supernatinst/combined --b mine.jsonl --json
      nightjar compare --benchmark supernatinst --a runs/mine --b runs/theirs
    """
    from nightjar.benchmarks import evaluation
    from nightjar.benchmarks.score import compare_files

    references = references or evaluation.questions(a, benchmark)
    a, b = (evaluation.predictions(path, benchmark) for path in (a, b))
    return compare_files(benchmark, a, b, references, samples)
