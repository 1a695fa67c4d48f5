"""The command compare: two prediction sets on the same questions, runs of harnesses, or data/ with another version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from operator import itemgetter
from pathlib import Path
from typing import Any

import click

from nightjar.benchmarks import evaluation_folder, registry
from nightjar.benchmarks.file_scoring import compare_files, difference_rows, parts
from nightjar.benchmarks.score_table import difference_text, number_text, p_text
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import folder_output
from nightjar.params.predict import PLAIN
from pipelines.commands.compare_runs import compare_sources, print_runs, run_options, run_rows
from pipelines.commands.console import say, say_table
from pipelines.commands.options import (
    DEFAULT_SAMPLES,
    FILE,
    OUTPUT,
    PREDICTIONS,
    TEXT,
    CommandResult,
    optional_benchmark_option,
    printed,
    references_option,
    refuse,
    samples_option,
)
from pipelines.commands.score import ALL, say_head
from pipelines.versions.revision_files import provided
from stages.report import comparison


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
    counts = [cell[name] for name in ("better", "worse", "equal")]
    return {
        "metric": metric,
        **{name: number_text(row, cell[name], 1) for name in VALUES},
        "a - b": difference_text(row, 1),
        "p": p_text(cell),
        "significant": "yes" if cell["significant"] else "no",
        "better / worse / equal": "–" if None in counts else " / ".join(map(str, counts)),
    }


@click.command()
@optional_benchmark_option
@click.option("--a", "a", type=FILE, help=f"A run, or with --benchmark predictions: {PREDICTIONS}")
@click.option("--b", "b", type=FILE, help="The run or the predictions of the other system.")
@run_options
@references_option
@samples_option(1)
@click.option(
    "--against",
    type=TEXT,
    metavar="REV|DIR",
    help="Compare data/ with a Git revision, or with another project's folder.",
)
@click.option(
    "--output",
    type=OUTPUT,
    help="With --against: the folder of the page, new, empty, or that of an earlier comparison, which is replaced.  "
    f"[default: {paths.COMPARISON}]",
)
@printed(csv=True)
def compare(
    benchmark: str | None,
    a: Path | None,
    b: Path | None,
    references: Path | None,
    samples: int | None,
    against: str | None,
    output: Path | None,
    **options: Any,
) -> CommandResult:
    """Compare two prediction sets, runs of any harness, or all of data/ with another version: a minus b.

    Differences are in the units of their metrics. They have 95% bootstrap intervals over pairs, and the
    two-sided p of a permutation test; n<20 stands for fewer than 20 instances. A difference is significant
    if p is at most 0.05. Better, worse and equal count instances. The p of categories are not corrected for
    their number. Each track or task is compared alone, and all tracks together last. With --benchmark the CSV
    has each track alone, with the columns track, level, name, metric, n, a, b, difference, low, high, p,
    better, worse, equal.

    Without --benchmark, runs are compared: samples of lm-evaluation-harness, logs of inspect_ai, or folders
    of nightjar evaluate (docs/harnesses.md). No project is needed. The p of runs are corrected by Holm's
    method.

    With --against, the scores and answers in data/ are compared with another version. REV is a branch, tag, commit or
    experiment, read from DVC's cache; DIR is the folder of another project, or its data folder. p is corrected for the
    number of comparisons. The page has examples of changed answers.

    \b
    Example:
      nightjar compare --benchmark supernatinst --a mine.jsonl --b yours.jsonl --references references.jsonl
      nightjar compare --benchmark supernatinst --a data/predict/supernatinst/combined --b mine.jsonl --json
      nightjar compare --benchmark supernatinst --a runs/mine --b runs/theirs
      nightjar compare --a results/mine --b results/theirs --html comparison
      nightjar compare --against HEAD
      nightjar compare --against ../other-project --output comparison --json
    """
    sources = [path for path in (a, b) if path]
    if against is not None:
        others = {"benchmark": benchmark, "a": a, "b": b, "references": references, "samples": samples}
        refuse("it does not go with --against", **others)
        _refuse_run_options("--against", options)
        return _compare_versions(against, output or paths.COMPARISON)
    refuse("it goes with --against", output=output)
    samples = DEFAULT_SAMPLES if samples is None else samples
    if benchmark is None:
        if references:
            raise click.UsageError("--references goes with --benchmark")
        return CommandResult(compare_sources(sources, samples=samples, **options), print_runs, run_rows)
    _refuse_run_options("--benchmark", options)
    if not a or not b:
        raise click.UsageError("--benchmark needs --a and --b")
    result = _compare_predictions(benchmark, (a, b), references, samples)
    return CommandResult(result, _print_differences, difference_rows)


def _refuse_run_options(option: str, options: Mapping[str, Any]) -> None:
    """Raise click's error for options of runs, beside `option`."""
    if any(options.values()):
        raise click.UsageError(f"--run, --common, --any-prompt and --html compare runs: leave {option} out")


def _compare_predictions(
    benchmark: str, sides: tuple[Path, Path], references: Path | None, samples: int
) -> dict[str, Any]:
    for path in sides:
        _check_predictions(path, benchmark)
    questions = references or evaluation_folder.questions(sides[0], benchmark)
    a, b = (evaluation_folder.predictions(path, benchmark) for path in sides)
    return compare_files(benchmark, a, b, questions, samples)


def _check_predictions(path: Path, benchmark: str) -> None:
    """Raise NightjarError for a path that does not exist, with that of the project's system of the name."""
    if path.exists():
        return
    systems = {folder.name: str(folder) for folder in sorted((paths.PREDICTIONS / benchmark).glob("*"))}
    near = get_close_matches(str(path), systems, 1)
    fix = f"give the folder of a system: {systems[near[0]]}" if near else "check the path"
    raise NightjarError("no such file or folder", path, fix)


# The artifacts that a comparison reads.
COMPARED = tuple(it.as_posix() for it in (paths.SCORES, paths.PREDICTIONS, paths.QUESTIONS))
FACTS = paths.METRICS.as_posix()
COLUMNS = (
    "benchmark",
    "system",
    "track",
    "metric",
    "n",
    "before",
    "now",
    "difference",
    "p corrected",
    "verdict",
)


def _print_versions(comparison_facts: dict[str, Any]) -> None:
    lines = list(comparison.lines(comparison_facts))
    changed = [line for line in lines if line["verdict"] in ("better", "worse")]
    say_table(
        [{name: line[name] for name in COLUMNS} for line in changed],
        right=("n", "before", "now", "difference"),
    )
    counts = Counter(line["verdict"] for line in lines)
    say(f"{len(lines)} numbers: " + ", ".join(f"{count} {word}" for word, count in counts.items()))
    reasons = Counter(line["reason"].partition(":")[0] for line in lines if line["reason"])
    for reason, count in reasons.most_common():
        say(f"  not comparable: {count:>4}  {reason}")
    differ, answers = (sum(row[name] for row in comparison_facts["answers"]) for name in ("changed", "n"))
    say(f"{differ:,} of {answers:,} answers changed")
    for text in comparison.other_prompts(comparison_facts):
        say(text)
    say(f"The comparison: {comparison_facts['page']}")


def _compare_versions(against: str, output: Path) -> CommandResult:
    """Compare data/ with another version, and write the page."""
    with folder_output(output, [Path(against)], comparison.foreign) as folder:
        if before := _of_folder(Path(against)):
            comparison_facts = comparison.compare(paths.DATA, before)
        else:
            with provided(Path(), against, COMPARED, [FACTS]) as scratch:
                comparison_facts = comparison.compare(paths.DATA, scratch / paths.DATA)
        for name, text in comparison.files(comparison_facts, against).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    result = {**comparison_facts, "page": output / "index.html"}
    return CommandResult(result, _print_versions, itemgetter("numbers"))


def _of_folder(path: Path) -> Path | None:
    """The data folder at `path`, or in it; None if neither is one."""
    return next((one for one in (path / paths.DATA, path) if (one / "evaluate").is_dir()), None)
