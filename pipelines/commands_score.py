"""The commands around scores: score, compare, references, prompts. They hand over to the stage's own functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from pipelines.commands_data import FILE, _print_json, _print_table, as_json_option

Command = TypeVar("Command", bound=Callable[..., Any])
METRICS = ("exact_match", "rouge1", "rougeL")
benchmark_option = click.option("--benchmark", required=True, help="supernatinst.")
references_option = click.option(
    "--references", type=FILE, help="JSON Lines {id, references, task_id, ...}; data/split if not given."
)


def samples_option(least: int) -> Callable[[Command], Command]:
    return click.option(
        "--samples",
        type=click.IntRange(min=least),
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
    help="JSON Lines {id, prediction}, a folder of data/predict, or copy_input, copy_demo.",
)
@references_option
@click.option("--details", type=FILE, help="Write one JSON line an instance to this file.")
@samples_option(0)
@as_json_option
def score(
    benchmark: str,
    predictions: Path,
    references: Path | None,
    details: Path | None,
    samples: int,
    as_json: bool,
) -> None:
    """Score anybody's predictions; nothing of the pipeline is needed.

    Means are over instances, in percent, with 95% bootstrap intervals (none with --samples 0). What has no
    prediction scores as empty and is counted.

    \b
    Example:
      nightjar score --benchmark supernatinst --predictions mine.jsonl --references references.jsonl --json
    """
    from stages.evaluate.score import score_files

    result = score_files(benchmark, predictions, references, details, samples)
    if as_json:
        _print_json(result)
        return
    missing = f", {result['missing']} without a prediction" if result["missing"] else ""
    click.echo(f"{benchmark}: {result['n']} instances{missing}\n")
    ends = result.get("intervals", {})
    _print_table("all", [_told(result["metrics"], ends.get("metrics", {}))])
    if tracks := result.get("by_track"):
        click.echo()
        rows = [
            {"track": track, "n": alone["n"]}
            | _told(alone["metrics"], alone.get("intervals", {}).get("metrics", {}))
            for track, alone in tracks.items()
        ]
        _print_table("", rows)
    for level in ("by_category", "by_task"):
        click.echo()
        told = ends.get(level, {})
        rows = [{level[3:]: name, **_told(row, told.get(name, {}))} for name, row in result[level].items()]
        _print_table("", rows)


def _told(row: dict[str, Any], ends: dict[str, list[float]]) -> dict[str, Any]:
    """The row with every mean as "58.90 [52.50, 65.00]"."""
    return {
        key: f"{value:.2f} [{ends[key][0]:.2f}, {ends[key][1]:.2f}]" if key in ends else value
        for key, value in row.items()
    }


@click.command()
@benchmark_option
@click.option(
    "--a",
    "a",
    required=True,
    type=FILE,
    help="JSON Lines {id, prediction}, a folder of data/predict, or copy_input, copy_demo.",
)
@click.option("--b", "b", required=True, type=FILE, help="The same, of the other system.")
@references_option
@samples_option(1)
@as_json_option
def compare(benchmark: str, a: Path, b: Path, references: Path | None, samples: int, as_json: bool) -> None:
    """Compare two prediction sets on the same instances: a minus b.

    Differences are in percent, with 95% bootstrap intervals over pairs and the two-sided p of a test that flips
    signs. Better, worse and equal count instances. The p of categories are not corrected for their number.

    \b
    Example:
      nightjar compare --benchmark supernatinst --a mine.jsonl --b yours.jsonl --references references.jsonl
      nightjar compare --benchmark supernatinst --a data/predict/supernatinst-combined --b mine.jsonl --json
    """
    from stages.evaluate.score import compare_files

    result = compare_files(benchmark, a, b, references, samples)
    if as_json:
        _print_json(result)
        return
    lacking = [
        f"{count} without a prediction in {name}" for name, count in result["missing"].items() if count
    ]
    click.echo(f"{benchmark}: {result['n']} instances{''.join(f', {one}' for one in lacking)}\n")
    parts = {"": result, **result.get("by_track", {})}
    for track, part in parts.items():
        rows = [{"metric": metric, **_line(part["metrics"][metric])} for metric in METRICS]
        _print_table(f"{track} track" if track else "all", rows)
        click.echo()
    rows = [
        {"category": name, "metric": cell["metric"], **_line(cell[cell["metric"]])}
        for name, cell in result["by_category"].items()
    ]
    _print_table("by category, each by the metric that is published for it", rows)


def _line(cell: dict[str, Any]) -> dict[str, Any]:
    p = f"{cell['p']:.4f}" if cell["p"] >= 0.0001 else "<0.0001"
    between = f"[{cell['low']:+.2f}, {cell['high']:+.2f}]"
    counts = {key: cell[key] for key in ("better", "worse", "equal")}
    return {
        "a": cell["a"],
        "b": cell["b"],
        "a - b": f"{cell['value']:+.2f}",
        "interval": between,
        "p": p,
        **counts,
    }


@click.command()
@click.option("--output", required=True, type=FILE, help="The file to write.")
@as_json_option
def references(output: Path, as_json: bool) -> None:
    """Write the split's test instances as references that other systems' predictions are scored against.

    One JSON line an instance: id, references, task_id, task_category, track.

    \b
    Example:
      nightjar references --output references.jsonl
    """
    from stages.evaluate.files import write_references

    _print_written(output, write_references(output), as_json)


@click.command()
@benchmark_option
@click.option("--output", required=True, type=FILE, help="The file to write.")
@click.option(
    "--encoding", metavar="NAME", help="A named encoding, such as def_pos1; by the parameters if not given."
)
@as_json_option
def prompts(benchmark: str, output: Path, encoding: str | None, as_json: bool) -> None:
    """Write the prompts of the test instances, for a model of your own to answer (docs/own-model.md).

    One JSON line an instance, in the order of `nightjar references`: id, task_id, prompt, stop, max_tokens. The prompt
    is the exact text that the untuned model is shown under params.yaml, without special tokens or a chat template.
    Score the answers, JSON Lines of {id, prediction}, with `nightjar score`.

    \b
    Example:
      nightjar prompts --benchmark supernatinst --output prompts.jsonl
      nightjar prompts --benchmark supernatinst --output prompts.jsonl --encoding def_pos2_neg2 --json
    """
    from stages.params import load
    from stages.predict.prompts import write_prompts

    count = write_prompts(load(), benchmark, output, encoding)
    _print_written(output, count, as_json)


def _print_written(output: Path, count: int, as_json: bool) -> None:
    if as_json:
        _print_json({"output": output, "n": count})
    else:
        click.echo(f"{output}: {count:,} instances")
