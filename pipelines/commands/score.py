"""The commands score and references: scores of anybody's answers, analyses, and what they are scored against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import click

from nightjar.benchmarks import registry
from nightjar.benchmarks.answers_and_references import write_references
from nightjar.benchmarks.file_scoring import analyse as run_analysis
from nightjar.benchmarks.file_scoring import score_files, score_rows
from nightjar.benchmarks.score_table import number_text, score_text
from nightjar.core.display import counted_as
from pipelines.commands.console import bytes_bar, say, say_table
from pipelines.commands.options import (
    DEFAULT_SAMPLES,
    FILE,
    OUTPUT,
    PREDICTIONS,
    CommandResult,
    Listed,
    benchmark_option,
    encoder_option,
    printed,
    references_option,
    refuse,
    require,
    samples_option,
)

ALL = "all tracks together (not a published number)"


def say_head(result: Mapping[str, Any], missing: str) -> None:
    """Print the first line: what was scored. Each of several tracks is named further down."""
    only = ""
    if len(result["tracks"]) == 1:
        track, card = result["tracks"][0], registry.load_benchmark(result["benchmark"])
        only = f", task {track}" if card.files.by_task else f", {card.track_title(track)}"
    n = result["n"]
    say(f"{result['benchmark']}{only}: {counted_as(n, 'instance')}{missing}")
    say()


# Of a benchmark with more metrics only those over all instances are printed; --csv has all.
MOST_METRICS = 6


def _print_scores(result: dict[str, Any]) -> None:
    benchmark, rows = registry.load_benchmark(result["benchmark"]), score_rows(result)
    left_out = ", left out" if benchmark.files.unanswered == "left out" else ""
    say_head(result, f", {result['missing']} without a prediction{left_out}" if result["missing"] else "")
    if benchmark.files.by_task:
        mean_title = {
            row["track"]: benchmark.track_title(row["track"])
            for row in rows
            if benchmark.is_mean(row["track"])
        }
        by_task = [{"task": mean_title.get(row["track"], row["track"]), **row} for row in rows]
        _say_metrics(result, by_task, "task")
        return
    levels = ("category", "task") if len(result["metrics"]) <= MOST_METRICS else ()
    for track, grouped in groupby(rows, key=itemgetter("track")):
        by_level: dict[str, list[dict[str, Any]]] = {}
        for row in grouped:
            by_level.setdefault(row["level"], []).append(row)
        if len(result["tracks"]) > 1:
            say(benchmark.track_title(track))
        _say_metrics(result, by_level.get("overall", []))
        say()
        for level in levels:
            _say_level(result, by_level.get(level, []), level)
    if len(result["tracks"]) > 1:
        say(ALL)
        rows = score_rows({key: value for key, value in result.items() if key != "by_track"})
        _say_metrics(result, [row for row in rows if row["level"] == "overall"])


def _say_metrics(result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], *names: str) -> None:
    """Print a line a row: `names`, its metric, n, and the score as "58.90 [52.50, 65.00]", or "58.90 n<20"."""
    lines = [
        {name: row[name] for name in (*names, "metric", "n")} | {"score": _text(result, row)} for row in rows
    ]
    say_table(lines, right=("score",))


def _say_level(result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], level: str) -> None:
    """Print a line a category or task, with a column a metric; of a category its own metric, too."""
    benchmark, lines = registry.load_benchmark(result["benchmark"]), dict[str, dict[str, Any]]()
    for row in rows:
        line = lines.setdefault(row["name"], {level: row["name"], "n": row["n"]})
        if level == "category":
            line["metric"] = benchmark.main_metric(row["name"]).name
        line[row["metric"]] = _text(result, row)
    say_table(list(lines.values()), right=result["metrics"])
    if lines:
        say()


def _text(result: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Return a score with its interval, if intervals were asked for."""
    named = {"benchmark": result["benchmark"], **row}
    return score_text(named, 1) if "intervals" in result else number_text(named, row["value"], 1)


def _analyses() -> Iterable[str]:
    for name in registry.names():
        yield from (f"{one.name} ({name})" for one in registry.load_benchmark(name).analyses)


def _print_analysis(analysis: dict[str, Any]) -> None:
    say(f"{analysis['benchmark']}, {analysis['analysis']}: {analysis['title']}")
    say_table([{name: _cell(value) for name, value in row.items()} for row in analysis["rows"]])
    for name, value in analysis.items():
        if name not in ("benchmark", "analysis", "title", "rows"):
            say(f"{name}: {_cell(value)}")


def _cell(value: Any) -> Any:
    """A number with four decimals; a blank for None."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {count}" for name, count in value.items()) or "none"
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else value


@click.command()
@benchmark_option
@click.option("--predictions", type=FILE, help=PREDICTIONS)
@references_option
@click.option("--details", type=OUTPUT, help="Write one JSON line an instance to this file.")
@encoder_option
@samples_option(0)
@click.option(
    "--analysis", cls=Listed, names=_analyses, intro="Analyse the references with the file --input instead."
)
@click.option("--input", "file", type=FILE, help="The file that the analysis reads.")
@printed(csv=True)
def score(
    benchmark: str,
    predictions: Path | None,
    references: Path | None,
    details: Path | None,
    encoder: Path | None,
    samples: int | None,
    analysis: str | None,
    file: Path | None,
) -> CommandResult:
    """Score predictions of any origin; no project is needed.

    A prediction is a line {"id": "...", "prediction": "..."}. It has a key `task` if the tasks of the
    benchmark are scored apart; other keys are ignored. A benchmark with published file formats reads these
    instead. Scores are in the units of their metrics. Their 95% intervals over instances are exact for
    proportions, else bootstrapped. There are none with --samples 0, and n<20 stands for fewer than 20
    instances. An instance without a prediction is counted. It scores as an empty answer, or is left out if
    the benchmark was published so. Each track or task has its own scores, as published. The scores of all
    tracks together come last. The CSV does not have these; its columns are track, level, name, metric, n,
    value, low, high.

    With --analysis the references of a benchmark are analysed with a file of yours, in place of predictions. The page
    of the benchmark in docs/ says what each analysis reads and computes.

    \b
    Example:
      nightjar score --benchmark supernatinst --predictions mine.jsonl --references references.jsonl --json
      nightjar score --benchmark protoqa --predictions ranked.jsonl --references dev.crowdsourced.jsonl
      nightjar score --benchmark protoqa --analysis assessments --references dev.jsonl --input assessments.jsonl
    """
    if analysis is not None:
        require(input=file)
        refuse("an analysis does not read it", predictions=predictions, details=details, samples=samples)
        with bytes_bar(analysis) as progress:
            result = run_analysis(benchmark, analysis, references, file or Path(), encoder, progress)
        return CommandResult(result, _print_analysis, itemgetter("rows"))
    require(predictions=predictions)
    refuse("it is for --analysis", input=file)
    samples = DEFAULT_SAMPLES if samples is None else samples
    result = score_files(benchmark, predictions or Path(), references, details, samples, encoder)
    return CommandResult(result, _print_scores, score_rows)


def print_written(written: dict[str, Any]) -> None:
    say(f"{written['output']}: {counted_as(written['n'], 'instance')}")


@click.command()
@benchmark_option
@click.option("--output", required=True, type=OUTPUT, help="The file to write.")
@printed()
def references(benchmark: str, output: Path) -> CommandResult:
    """Write the questions of a benchmark as references that other systems' predictions are scored against.

    One JSON line an instance: id, references, the task, and where the benchmark has them category, track and texts that
    `nightjar judge export` shows.

    \b
    Example:
      nightjar references --benchmark supernatinst --output references.jsonl
    """
    value = {"output": output, "n": write_references(registry.load_benchmark(benchmark), output)}
    return CommandResult(value, print_written)
