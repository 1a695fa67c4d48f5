"""nightjar submission: make a leaderboard's file, or check one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nightjar.benchmarks.submit import check_submission, submit
from nightjar.core.display import counted_as
from nightjar.core.errors import NightjarError
from pipelines.commands.console import say, say_table
from pipelines.commands.options import FILE, OUTPUT, CommandResult, benchmark_option, printed


def _print(result: dict[str, Any]) -> None:
    say_table([{"task": task, "predictions": n} for task, n in result["tasks"].items()])
    say()
    say(f"{result['file']}: {counted_as(result['n'], 'prediction')}, well-formed")
    if not result["ids_checked"]:
        say("The ids were not checked: give --questions, the leaderboard's questions")
    elif result["hidden"] < 1:
        say(
            "The ids are those of the questions, but these have references: they are not the leaderboard's questions"
        )
    else:
        say(f"The ids are those of the questions. Hand it in at {result['site']}")


@click.command()
@benchmark_option
@click.option(
    "--predictions", type=FILE, help="JSON Lines in the benchmark's form, or a folder of data/predict."
)
@click.option("--output", type=OUTPUT, help="The file to write: a CSV; of ranked lists .jsonl or .json.")
@click.option("--check", "file", type=FILE, help="Check this file of anybody's instead of writing one.")
@click.option(
    "--questions",
    type=FILE,
    help="What must be answered: a folder of data/questions or references; for data/predict the project's.",
)
@printed()
def submission(
    benchmark: str,
    predictions: Path | None,
    output: Path | None,
    file: Path | None,
    questions: Path | None,
) -> CommandResult:
    """Make the file that a benchmark's leaderboard takes, or check one.

    The file must have all tasks of the benchmark, each id once, and only texts. With --questions it must
    have exactly their ids. A written CSV is read again as the leaderboard reads it. `nightjar score` scores
    such a file if there are references.

    \b
    Example:
      nightjar submission --benchmark zeroscrolls --predictions mine.jsonl --output mine.csv
      nightjar submission --benchmark protoqa --predictions data/predict/protoqa/protoqa --output mine.jsonl
      nightjar submission --benchmark zeroscrolls --check theirs.csv --questions data/questions/zeroscrolls
    """
    if file is not None:
        if predictions or output:
            raise NightjarError("it is given with --predictions or --output", "--check", "give it alone")
        return CommandResult(check_submission(benchmark, file, questions), _print)
    if predictions is None or output is None:
        what = "--predictions and --output are needed, or --check"
        raise NightjarError(what, "nightjar submission", "see nightjar submission --help")
    return CommandResult(submit(benchmark, predictions, output, questions), _print)
