"""The commands of the human evaluation: judge export and judge score."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from nightjar.benchmarks.score_table import bracketed
from nightjar.core import paths
from nightjar.core.display import number
from nightjar.core.errors import NightjarError
from nightjar.judge import comparison_page as judge_page
from nightjar.judge import sets as judge_sets
from nightjar.judge.judged_credit import score as score_judges
from pipelines.commands.console import say
from pipelines.commands.options import FILE, OUTPUT, POSITIVE, SEED, CommandResult, printed


def _print_export(export: dict[str, Any]) -> None:
    equal = f", {export['equal']} more are ties, their answers being equal" if export["equal"] else ""
    say(f"{export['page']}: {export['items']} items of {export['tasks']} tasks{equal}")
    say(f"{export['key']}: the key; keep it from the judges until they are done")


def _print_score(result: dict[str, Any]) -> None:
    say(f"A: {result['a']}")
    say(f"B: {result['b']}")
    say()
    for judge in result["judges"]:
        open_items = f", {judge['open']} left open" if judge["open"] else ""
        say(f"{judge['judge']}: {judge['answered']} answered{open_items}")
    credit, counts = result["credit"], result["ratings"]
    say()
    say(
        f"A at least as good as B: {number(credit['value'], 1)}% {_interval(credit)}"
        f" of {credit['n']} items; {counts['wins']} wins, {counts['ties']} ties, {counts['losses']} losses"
    )
    if result["equal"]:
        say(f"{result['equal']} of the ties are equal answers that were not shown")
    if result["left_chosen"] is not None:
        say(f"left side chosen in {result['left_chosen']:.1f}% of the ratings that are no ties")
    if result["agreement"]:
        alpha = result["agreement"]["alpha"]
        of_chance = f"{alpha:.2f}" if alpha is not None else "undefined (all ratings are the same)"
        raw, n = result["agreement"]["raw"], result["agreement"]["n"]
        say(f"agreement: {raw:.1f}% of pairs on {n} items, Krippendorff's alpha {of_chance}")
    if len(result["by_category"]) > 1:
        say()
    for name, row in result["by_category"].items() if len(result["by_category"]) > 1 else ():
        of = f"{name:<36} {number(row['value'], 1):>5}% {_interval(row):<17} n {row['n']:<4}"
        say(f"{of} {row['wins']} wins, {row['ties']} ties, {row['losses']} losses")


@click.group()
def judge() -> None:
    """Let people compare two sets of answers blindly, and score what they say (docs/human-evaluation.md).

    \b
    Example:
      nightjar judge export --a data/predict/supernatinst/tk_instruct --b references --output page.html
      nightjar judge score --key page.key.json answers-*.json --json
    """


@judge.command()
@click.option("--a", "a", required=True, metavar="SET", help="The set whose credit is asked.")
@click.option("--b", "b", required=True, metavar="SET", help="What it is compared with.")
@click.option("--output", required=True, type=OUTPUT, help="The page to write, such as page.html.")
@click.option("--tasks", type=POSITIVE, help="How many tasks; 10, or all, if not given.")
@click.option("--instances", type=POSITIVE, default=5, show_default=True, help="How many of each task.")
@click.option(
    "--seed",
    type=SEED,
    default=0,
    show_default=True,
    help="Draws items and sides.",
)
@click.option(
    "--references",
    type=FILE,
    help="JSON Lines {id, references, task_id, task_category, input, definition}, in place of ingested tasks.",
)
@click.option(
    "--ingested",
    type=FILE,
    help="Where inputs, definitions and examples are: the output of nightjar ingest; the pipeline's if not given.",
)
@click.option("--equal-are-ties", is_flag=True, help="Count equal answers as ties instead of showing them.")
@printed()
def export(
    a: str,
    b: str,
    output: Path,
    tasks: int | None,
    instances: int,
    seed: int,
    references: Path | None,
    ingested: Path | None,
    equal_are_ties: bool,
) -> CommandResult:
    """Write one HTML page for the judges, and beside it the key that stays with you.

    A SET is a predictions folder, a JSON Lines file of {id, prediction}, or the word references: the gold
    answers. The page needs no server and no network. It does not say whose answer is where; page.key.json
    does.

    \b
    Example:
      nightjar judge export --a data/predict/supernatinst/tk_instruct --b references --output page.html
      nightjar judge export --a mine.jsonl --b theirs.jsonl --output page.html --tasks 12 --instances 10
    """
    if ingested and references:
        fix = "give the file, or the ingested tasks"
        raise NightjarError("references have their own texts", "--ingested", fix)
    texts = judge_sets.Texts(ingested or paths.NATURAL_INSTRUCTIONS, references)
    result = judge_page.export(a, b, output, texts, tasks, instances, seed, equal_are_ties)
    return CommandResult(result, _print_export)


@judge.command()
@click.option("--key", required=True, type=FILE, help="The key that export wrote beside the page.")
@click.argument("answers", nargs=-1, required=True, type=FILE)
@printed()
def score(key: Path, answers: tuple[Path, ...]) -> CommandResult:
    """Score the files that judges saved: how often A was rated at least as good as B.

    \b
    Example:
      nightjar judge score --key page.key.json answers-ann.json answers-bo.json
    """
    return CommandResult(score_judges(key, answers), _print_score)


def _interval(row: Mapping[str, Any]) -> str:
    """Return the interval of a credit in percent."""
    return bracketed(row["low"], row["high"], row["n"])
