"""The commands for predictions: score, compare, references, prompts. They call the library and the stage predict."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from nightjar.core.errors import NightjarError
from pipelines.commands.console import say, say_exact, say_json, say_table
from pipelines.commands.data import FILE, Listed, as_json_option

Command = TypeVar("Command", bound=Callable[..., Any])
# As for the stage (nightjar.core.config.Samples): more would take the memory of the machine.
MOST_SAMPLES = 1_000_000
ALL = "all tracks together (not a published number)"
# Metrics that a table shows as columns; more are rows.
MOST_COLUMNS = 8
PREDICTIONS = (
    "JSON Lines {id, prediction} or the published form, a leaderboard's file NAME.csv, a folder of data/predict, or "
    "the name of a baseline."
)


def _benchmarks() -> list[str]:
    from nightjar.benchmarks import registry

    return registry.names()


benchmark_option = click.option("--benchmark", required=True, cls=Listed, names=_benchmarks)
references_option = click.option(
    "--references",
    type=FILE,
    help="JSON Lines {id, references, task, ...} or the published form; the pipeline's questions if not given.",
)
encoder_option = click.option(
    "--encoder",
    type=FILE,
    metavar="FOLDER",
    help="A sentence encoder, such as models/base/sentence_encoder, for metrics that need one; none if not given.",
)
as_csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print one flat table as CSV.")


def samples_option(least: int) -> Callable[[Command], Command]:
    return click.option(
        "--samples",
        type=click.IntRange(least, MOST_SAMPLES),
        default=1000,
        show_default=True,
        help="Bootstrap resamples.",
    )


@click.command()
@benchmark_option
@click.option(
    "--predictions",
    required=True,
    type=FILE,
    help=PREDICTIONS,
)
@references_option
@click.option("--details", type=FILE, help="Write one JSON line an instance to this file.")
@encoder_option
@samples_option(0)
@as_json_option
@as_csv_option
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
    from nightjar.benchmarks.score import parts, score_files, score_rows

    _check_form(as_json, as_csv)
    result = score_files(benchmark, predictions, references, details, samples, encoder)
    if as_json:
        say_json(result)
        return
    if as_csv:
        _print_csv(score_rows(result))
        return
    missing = f", {result['missing']} without a prediction{_left_out(result)}" if result["missing"] else ""
    _print_head(result, missing)
    by_track = parts(result)
    if _tasks_are_tracks(result):
        rows = [{"task": task} | _scores(part) for task, part in by_track.items()]
        if len({name for row in rows for name in row}) > MOST_COLUMNS:
            rows = [_main_first(task, row, by_track[task]) for task, row in zip(by_track, rows, strict=True)]
        _print_union(rows)
        if found := result.get("average"):
            say()
            say_table([_average(result["benchmark"], found)])
        return
    if len(result["metrics"]) > MOST_COLUMNS:
        _print_by_metric(result, by_track)
        return
    say_table([_track(track, result) | _scores(part) for track, part in by_track.items()])
    for level in ("category", "task"):
        rows = [
            _track(track, result) | {level: name} | _shown(row, _ends(part, f"by_{level}").get(name))
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


def _tasks_are_tracks(result: Mapping[str, Any]) -> bool:
    from nightjar.benchmarks import registry

    return registry.card(result["benchmark"]).files.by_task


def _main_first(task: str, row: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a task with its main metric in the column `score`, which all tasks share."""
    main = next(iter(part["metrics"]), "")
    others = {name: value for name, value in row.items() if name not in ("task", "n", main)}
    return {"task": task, "n": row["n"], "metric": main, "score": row.get(main, ""), **others}


def _average_name(benchmark: str) -> str:
    """The name of the average over a benchmark's tasks."""
    from nightjar.benchmarks import registry

    average = registry.card(benchmark).average
    return average.name if average else ""


def _average(benchmark: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """The row of the average over the tasks."""
    name = _average_name(benchmark)
    ends = None if found["low"] is None else (found["low"], found["high"])
    return _shown({"n": found["n"], name: found["value"]}, {name: ends})


def _left_out(result: Mapping[str, Any]) -> str:
    """What a benchmark does with instances without a prediction, if they are in no score."""
    from nightjar.benchmarks import registry

    return ", left out" if registry.card(result["benchmark"]).files.unanswered == "left out" else ""


def _print_head(result: Mapping[str, Any], missing: str) -> None:
    """The first line: what was scored. Of several tracks each is named further down."""
    only = ""
    if len(result["tracks"]) == 1:
        track = result["tracks"][0]
        only = f", task {track}" if _tasks_are_tracks(result) else f", {track} track"
    say(f"{result['benchmark']}{only}: {result['n']} instances{missing}")
    say()


def _print_union(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a table in which a row may lack columns of others."""
    names = dict.fromkeys(name for row in rows for name in row)
    say_table([{name: row.get(name, "") for name in names} for row in rows])


def _print_by_metric(result: Mapping[str, Any], by_track: Mapping[str, Any]) -> None:
    """One row a metric, for a benchmark with too many of them for columns; without categories and tasks."""
    from nightjar.benchmarks import registry

    rows = []
    for metric in registry.card(result["benchmark"]).metrics:
        digits = 2 if metric.range[1] > 1 else 4
        for track, part in by_track.items():
            if metric.name not in part["metrics"]:
                continue
            row = {
                "metric": metric.name,
                "n": part["n"],
                "value": f"{part['metrics'][metric.name]:.{digits}f}",
            }
            if "intervals" in part:
                ends = part["intervals"]["metrics"][metric.name]
                row["95% interval"] = (
                    "too few" if ends is None else "[{:.{d}f}, {:.{d}f}]".format(*ends, d=digits)
                )
            rows.append(_track(track, result) | row)
    say_table(rows)


def _track(track: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """The column of the track, where there are several."""
    return {"track": track} if len(result["tracks"]) > 1 else {}


def _scores(part: Mapping[str, Any]) -> dict[str, Any]:
    return _shown({"n": part["n"]} | part["metrics"], _ends(part, "metrics"))


def _ends(part: Mapping[str, Any], level: str) -> dict[str, Any]:
    ends: dict[str, Any] = part.get("intervals", {}).get(level, {})
    return ends


def _print_csv(rows: list[dict[str, Any]]) -> None:
    """Rows that have the same keys; None is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    say_exact(text.getvalue().removesuffix("\n"))


def _check_form(as_json: bool, as_csv: bool) -> None:
    if as_json and as_csv:
        raise NightjarError("it is given with --json", "--csv", "give one of them")


def _shown(row: dict[str, Any], ends: Mapping[str, Sequence[float] | None] | None) -> dict[str, Any]:
    """The row with every score as "58.90 [52.50, 65.00]", or "58.90 (n = 8, too few)" where it has no interval."""
    if not ends:
        return row
    return {
        key: f"{value:.2f} {_between(ends[key], row)}" if key in ends else value for key, value in row.items()
    }


def _between(ends: Sequence[float | None] | None, row: Mapping[str, Any], sign: str = "") -> str:
    """The ends of an interval; where there is none, that the row's n is too small for one."""
    if ends is None or None in ends:
        from nightjar.statistics import too_few

        return f"({too_few(row['n'])})"
    return "[{0:{sign}.2f}, {1:{sign}.2f}]".format(*ends, sign=sign)


@click.command()
@benchmark_option
@click.option(
    "--a",
    "a",
    required=True,
    type=FILE,
    help=PREDICTIONS,
)
@click.option("--b", "b", required=True, type=FILE, help="The same, of the other system.")
@references_option
@samples_option(1)
@as_json_option
@as_csv_option
def compare(
    benchmark: str,
    a: Path,
    b: Path,
    references: Path | None,
    samples: int,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Compare two prediction sets on the same instances: a minus b.

    Differences are in the units of their metrics, with 95% bootstrap intervals over pairs (none of fewer than 20
    instances) and the two-sided p of a permutation test. A difference is seen if p is at most 0.05 and there are at
    least 20 instances. Better, worse and equal count instances. The p of categories are not
    corrected for their number. Each track or task is compared alone, all tracks together last. The CSV has each track
    alone, with the columns track, level, name, metric, n, a, b, difference, low, high, p, better, worse, equal.

    \b
    Example:
      nightjar compare --benchmark supernatinst --a mine.jsonl --b yours.jsonl --references references.jsonl
      nightjar compare --benchmark supernatinst --a data/predict/supernatinst/combined --b mine.jsonl --json
      nightjar compare --benchmark supernatinst --a runs/mine --b runs/theirs
    """
    from nightjar.benchmarks import evaluated
    from nightjar.benchmarks.score import compare_files, difference_rows, parts

    _check_form(as_json, as_csv)
    references = references or evaluated.questions(a, benchmark)
    a, b = (evaluated.predictions(path, benchmark) for path in (a, b))
    result = compare_files(benchmark, a, b, references, samples)
    if as_json:
        say_json(result)
        return
    if as_csv:
        _print_csv(difference_rows(result))
        return
    lacking = [
        f"{count} without a prediction in {name}" for name, count in result["missing"].items() if count
    ]
    _print_head(result, "".join(f", {one}" for one in lacking))
    by_track = parts(result)
    if _tasks_are_tracks(result):
        lines = [{"task": task} | line for task, part in by_track.items() for line in _lines(part)]
        if found := result.get("average"):
            lines.append({"task": "", "metric": _average_name(result["benchmark"]), **_line(found)})
        say_table(lines)
        return
    for track, part in by_track.items():
        say_table(_lines(part), f"{track} track" if len(by_track) > 1 else "")
        say()
    rows = [
        _track(track, result) | {"category": name, "metric": cell["metric"], **_line(cell[cell["metric"]])}
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
    counts = {key: "" if cell[key] is None else cell[key] for key in ("better", "worse", "equal")}
    return {
        "a": cell["a"],
        "b": cell["b"],
        "a - b": f"{cell['value']:+.2f}",
        "interval": _between((cell["low"], cell["high"]), cell, "+"),
        "p": f"{cell['p']:.4f}" if cell["p"] >= 0.0001 else "<0.0001",
        "seen": "yes" if cell["moved"] else "no",
        **counts,
    }


@click.command()
@benchmark_option
@click.option("--output", required=True, type=FILE, help="The file to write.")
@as_json_option
def references(benchmark: str, output: Path, as_json: bool) -> None:
    """Write the questions of a benchmark as references that other systems' predictions are scored against.

    One JSON line an instance: id, references, the task, and where the benchmark has them category, track and texts that
    `nightjar judge export` shows.

    \b
    Example:
      nightjar references --benchmark supernatinst --output references.jsonl
    """
    from nightjar.benchmarks import registry
    from nightjar.benchmarks.files import write_references

    _print_written(output, write_references(registry.card(benchmark), output), as_json)


@click.command()
@benchmark_option
@click.option("--output", required=True, type=FILE, help="The file to write.")
@click.option(
    "--encoding", metavar="NAME", help="A named encoding, such as def_pos1; by the parameters if not given."
)
@as_json_option
def prompts(benchmark: str, output: Path, encoding: str | None, as_json: bool) -> None:
    """Write the prompts of a benchmark, for a model of your own to answer (docs/own-model.md).

    One JSON line an instance, in the order of `nightjar references`: id, task, prompt, stop, max_tokens. The prompt
    is the exact text that the untuned model is shown under params.yaml, without special tokens or a chat template.
    Score the answers, JSON Lines of {id, prediction}, with `nightjar score`.

    \b
    Example:
      nightjar prompts --benchmark supernatinst --output prompts.jsonl
      nightjar prompts --benchmark supernatinst --output prompts.jsonl --encoding def_pos2_neg2 --json
    """
    from nightjar.core.params import load
    from stages.predict.prompts import write_prompts

    count = write_prompts(load(), benchmark, output, encoding)
    _print_written(output, count, as_json)


def _print_written(output: Path, count: int, as_json: bool) -> None:
    if as_json:
        say_json({"output": output, "n": count})
    else:
        say(f"{output}: {count:,} instances")
