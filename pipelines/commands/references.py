"""The command `references`: what others score against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nightjar.core.display import counted_as
from pipelines.commands.console import say
from pipelines.commands.options import OUTPUT, benchmark_option, printed


def print_written(found: dict[str, Any]) -> None:
    """Print how many instances a file has."""
    say(f"{found['output']}: {counted_as(found['n'], 'instance')}")


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
    from nightjar.benchmarks import registry
    from nightjar.benchmarks.files import write_references

    return {"output": output, "n": write_references(registry.card(benchmark), output)}
