"""The commands that score anybody's answers: score, compare, analyse, references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import click

from nightjar.benchmarks import evaluation, registry
from nightjar.benchmarks.files import write_references
from nightjar.benchmarks.score import analyse as run_analysis
from nightjar.benchmarks.score import compare_files, difference_rows, parts, score_files, score_rows
from nightjar.benchmarks.score_table import difference_text, number_text, p_text, score_text
from nightjar.core import paths
from nightjar.core.display import counted_as
from nightjar.core.errors import NightjarError
from nightjar.params.predict import PLAIN
from pipelines.commands.compare_runs import compare_sources, print_runs, run_options, run_rows
from pipelines.commands.console import bytes_bar, say, say_table
from pipelines.commands.options import (
    FILE,
    OUTPUT,
    PREDICTIONS,
    Listed,
    benchmark_option,
    encoder_option,
    optional_benchmark_option,
    printed,
    references_option,
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


@click.command()
@benchmark_option
@click.option("--predictions", required=True, type=FILE, help=PREDICTIONS)
@references_option
@click.option("--details", type=OUTPUT, help="Write one JSON line an instance to this file.")
@encoder_option
@samples_option(0)
@printed(_print_scores, score_rows)
def score(
    benchmark: str,
    predictions: Path,
    references: Path | None,
    details: Path | None,
    encoder: Path | None,
    samples: int,
) -> dict[str, Any]:
    """Score predictions of any origin; no project is needed.

    A prediction is a line {"id": "...", "prediction": "..."}. It has a key `task` if the tasks of the
    benchmark are scored apart; other keys are ignored. A benchmark with published file formats reads these
    instead. Scores are in the units of their metrics. Their 95% intervals over instances are exact for
    proportions, else bootstrapped. There are none with --samples 0, and n<20 stands for fewer than 20
    instances. An instance without a prediction is counted. It scores as an empty answer, or is left out if
    the benchmark was published so. Each track or task has its own scores, as published. The scores of all
    tracks together come last. The CSV does not have these; its columns are track, level, name, metric, n,
    value, low, high.

    \b
    Example:
      nightjar score --benchmark supernatinst --predictions mine.jsonl --references references.jsonl --json
      nightjar score --benchmark protoqa --predictions ranked.jsonl --references dev.crowdsourced.jsonl
    """
    return score_files(benchmark, predictions, references, details, samples, encoder)


def _print_differences(result: dict[str, Any]) -> None:
    benchmark, by_track = registry.load_benchmark(result["benchmark"]), parts(result)
    lacking = [
        f", {count} without a prediction in {name}" for name, count in result["missing"].items() if count
    ]
    say_prompts(result["prompts"])
    say_head(result, "".join(lacking))
    if benchmark.files.by_task:
        lines = [
            {"task": task} | line for task, part in by_track.items() for line in _lines(benchmark.name, part)
        ]
        if mean := result.get("average"):
            title = benchmark.track_title(mean["metric"])
            lines.append({"task": title, **_line(benchmark.name, mean["metric"], mean)})
        say_table(lines, right=VALUES)
        return
    for track, part in by_track.items():
        title = benchmark.track_title(track) if len(by_track) > 1 else ""
        say_table(_lines(benchmark.name, part), title, right=VALUES)
        say()
        by_category = [
            {"category": name, **_line(benchmark.name, cell["metric"], cell[cell["metric"]])}
            for name, cell in part["by_category"].items()
        ]
        say_table(by_category, "by category, each by the metric that is published for it", right=VALUES)
        if by_category:
            say()
    if len(by_track) > 1:
        say(ALL)
        say_table(_lines(benchmark.name, result), right=VALUES)


def say_prompts(prompts: Mapping[str, str | None]) -> None:
    """Print whether one or both of two systems were asked through a chat template; nothing if neither was."""
    both = {prompts["a"], prompts["b"]}
    if both <= {None, PLAIN}:
        return
    if len(both) == 1:
        say(f"Prompts of a and b: {prompts['a']}.")
        return
    of_each = (f"{name}: {how or 'not recorded'}" for name, how in prompts.items())
    say(f"The prompts of a and b differ. {'; '.join(of_each)}.")


# The columns of a comparison with the scores of both.
VALUES = ("a", "b")


def _lines(benchmark: str, part: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_line(benchmark, metric, cell) for metric, cell in part["metrics"].items()]


def _line(benchmark: str, metric: str, cell: Mapping[str, Any]) -> dict[str, Any]:
    row = {**cell, "benchmark": benchmark, "metric": metric}
    return {
        "metric": metric,
        **{name: number_text(row, cell[name], 1) for name in VALUES},
        "a - b": difference_text(row, 1),
        "p": p_text(cell),
        "significant": "yes" if cell["significant"] else "no",
        "better / worse / equal": " / ".join(str(cell[key] or 0) for key in ("better", "worse", "equal")),
    }


def _print_comparison(result: dict[str, Any]) -> None:
    (print_runs if "runs" in result else _print_differences)(result)


def _comparison_rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    return run_rows(result) if "runs" in result else difference_rows(result)


@click.command()
@optional_benchmark_option
@click.option("--a", "a", type=FILE, help=f"A run, or with --benchmark predictions: {PREDICTIONS}")
@click.option("--b", "b", type=FILE, help="The run or the predictions of the other system.")
@run_options
@references_option
@samples_option(1)
@printed(_print_comparison, _comparison_rows)
def compare(
    benchmark: str | None,
    a: Path | None,
    b: Path | None,
    references: Path | None,
    samples: int,
    **options: Any,
) -> dict[str, Any]:
    """Compare two prediction sets on the same instances, or runs of any harness: a minus b.

    Differences are in the units of their metrics. They have 95% bootstrap intervals over pairs, and the
    two-sided p of a permutation test; n<20 stands for fewer than 20 instances. A difference is significant
    if p is at most 0.05. Better, worse and equal count instances. The p of categories are not corrected for
    their number. Each track or task is compared alone, and all tracks together last. The CSV has each track
    alone, with the columns track, level, name, metric, n, a, b, difference, low, high, p, better, worse,
    equal.

    Without --benchmark, runs are compared: samples of lm-evaluation-harness, logs of inspect_ai, or folders
    of nightjar evaluate (docs/harnesses.md). No project is needed. The p of runs are corrected by Holm's
    method.

    \b
    Example:
      nightjar compare --benchmark supernatinst --a mine.jsonl --b yours.jsonl --references references.jsonl
      nightjar compare --benchmark supernatinst --a data/predict/supernatinst/combined --b mine.jsonl --json
      nightjar compare --benchmark supernatinst --a runs/mine --b runs/theirs
      nightjar compare --a results/mine --b results/theirs --html comparison
    """
    if benchmark is None:
        if references:
            raise click.UsageError("--references goes with --benchmark")
        return compare_sources([path for path in (a, b) if path], samples=samples, **options)
    if any(options.values()):
        raise click.UsageError("--run, --common, --any-prompt and --html compare runs: leave --benchmark out")
    if not a or not b:
        raise click.UsageError("--benchmark needs --a and --b")
    for path in (a, b):
        _check_predictions(path, benchmark)
    references = references or evaluation.questions(a, benchmark)
    a, b = (evaluation.predictions(path, benchmark) for path in (a, b))
    return compare_files(benchmark, a, b, references, samples)


def _check_predictions(path: Path, benchmark: str) -> None:
    """Raise NightjarError for a path that does not exist, with that of the project's system of the name."""
    if path.exists():
        return
    systems = {folder.name: str(folder) for folder in sorted((paths.PREDICTIONS / benchmark).glob("*"))}
    near = get_close_matches(str(path), systems, 1)
    fix = f"give the folder of a system: {systems[near[0]]}" if near else "check the path"
    raise NightjarError("no such file or folder", path, fix)


def _analyses() -> Iterable[str]:
    for name in registry.names():
        yield from (f"{one.name} ({name})" for one in registry.load_benchmark(name).analyses)


def _print_analysis(analysis: dict[str, Any]) -> None:
    rows = analysis.pop("rows")
    say(f"{analysis.pop('benchmark')}, {analysis.pop('analysis')}: {analysis.pop('title')}")
    say_table([{name: _cell(value) for name, value in row.items()} for row in rows])
    for name, value in analysis.items():
        say(f"{name}: {_cell(value)}")


@click.command()
@benchmark_option
@click.option("--analysis", required=True, cls=Listed, names=_analyses)
@references_option
@click.option("--input", "file", required=True, type=FILE, help="The file that the analysis reads.")
@encoder_option
@printed(_print_analysis)
def analyse(
    benchmark: str, analysis: str, references: Path | None, file: Path, encoder: Path | None
) -> dict[str, Any]:
    """Analyse the references of a benchmark with a file of yours.

    The page of the benchmark in docs/ says what each analysis reads and computes. No project is needed.

    \b
    Example:
      nightjar analyse --benchmark protoqa --analysis assessments --references dev.jsonl --input assessments.jsonl
      nightjar analyse --benchmark protoqa --analysis concept_net --references dev.jsonl --input assertions.csv.gz
    """
    with bytes_bar(analysis) as progress:
        return run_analysis(benchmark, analysis, references, file, encoder, progress)


def _cell(value: Any) -> Any:
    """A number with four decimals; a blank for None."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {count}" for name, count in value.items()) or "none"
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else value


def print_written(written: dict[str, Any]) -> None:
    say(f"{written['output']}: {counted_as(written['n'], 'instance')}")


@click.command()
@benchmark_option
@click.option("--output", required=True, type=OUTPUT, help="The file to write.")
@printed(print_written)
def references(benchmark: str, output: Path) -> dict[str, Any]:
    """Write the questions of a benchmark as references that other systems' predictions are scored against.

    One JSON line an instance: id, references, the task, and where the benchmark has them category, track and texts that
    `nightjar judge export` shows.

    \b
    Example:
      nightjar references --benchmark supernatinst --output references.jsonl
    """
    return {"output": output, "n": write_references(registry.load_benchmark(benchmark), output)}
