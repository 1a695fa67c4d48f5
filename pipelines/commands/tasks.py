"""The command `tasks`: the benchmarks with their tasks, and the check of a task file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nightjar.benchmarks import registry
from nightjar.benchmarks.task_check import check_task_file
from nightjar.core.json_text import quote_short
from pipelines.commands.console import say, say_table, say_text
from pipelines.commands.options import FILE, CommandResult, allow_outside_option, printed

# Of refused rows, and of characters of a row.
SHOWN, SHOWN_CHARACTERS = 20, 100


def _print_list(rows: list[dict[str, Any]]) -> None:
    say_table([{**row, "tasks": len(row["tasks"]) or ""} for row in rows], "benchmarks")


def _print_check(result: dict[str, Any]) -> None:
    for fault in result["faults"]:
        say(f"{result['file']}:{fault['line']}: {fault['what']}; {fault['fix']}")
    for row in result["rejected"][:SHOWN]:
        say(f"{row['file']}:{row['row']}: {row['reason']}: {quote_short(row['raw'], SHOWN_CHARACTERS)}")
    if (more := len(result["rejected"]) - SHOWN) > 0:
        say(f"and {more:,} more")
    if example := result["example"]:
        for name, value in example.items():
            say(f"--- {name}")
            say_text(value if isinstance(value, str) else "\n".join(map(repr, value)))
        say("---")
    if count := result["cross_lingual"]:
        say(f"rouge_l takes the cross-lingual tokens for {count:,} of {result['questions']:,} questions")
    say(
        f"{result['questions']:,} questions, {len(result['rejected']):,} rows rejected, {len(result['faults'])} faults"
    )


@click.command()
@click.option(
    "--check", type=FILE, metavar="FILE", help="A task file: list what is wrong, and show a prompt."
)
@allow_outside_option
@printed()
def tasks(check: Path | None, allow_outside: bool) -> CommandResult:
    """List the benchmarks, or check a task file (docs/extending.md).

    With --check: what is wrong with the file and its rows, line by line, and one prompt as a model gets it. Exit
    status: 0 without errors, 1 with errors, 2 wrong input.

    \b
    Example:
      nightjar tasks
      nightjar tasks --check my.yaml
    """
    if check is not None:
        result = check_task_file(check, allow_outside=allow_outside)
        return CommandResult(result, _print_check, status=int(bool(result["errors"])))
    rows = [
        {"benchmark": name, "version": card.version, "title": card.title, "tasks": list(card.tasks)}
        for name in registry.names()
        for card in [registry.load_benchmark(name)]
    ]
    return CommandResult(rows, _print_list)
