"""The command analyse: what a benchmark's card computes from its references and a file, beside scores."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from pipelines.commands.console import bytes_bar, say, say_table
from pipelines.commands.options import (
    FILE,
    Listed,
    benchmark_option,
    encoder_option,
    printed,
    references_option,
)


def _analyses() -> Iterable[str]:
    from nightjar.benchmarks import registry
    from nightjar.benchmarks.capabilities import Analysis

    for name in registry.names():
        yield from (f"{one.name} ({name})" for one in registry.card(name).capabilities_of(Analysis))


def _print(found: dict[str, Any]) -> None:
    rows = found.pop("rows")
    say(f"{found.pop('benchmark')}, {found.pop('analysis')}: {found.pop('title')}")
    say_table([{name: _shown(value) for name, value in row.items()} for row in rows])
    for name, value in found.items():
        say(f"{name}: {_shown(value)}")


@click.command()
@benchmark_option
@click.option("--analysis", required=True, cls=Listed, names=_analyses)
@references_option
@click.option("--input", "file", required=True, type=FILE, help="The file that the analysis reads.")
@encoder_option
@printed(_print)
def analyse(
    benchmark: str, analysis: str, references: Path | None, file: Path, encoder: Path | None
) -> dict[str, Any]:
    """Analyse the references of a benchmark with a file of yours.

    What the analyses of a benchmark read and compute is in its page of docs/. Nothing of the pipeline is needed.

    \b
    Example:
      nightjar analyse --benchmark protoqa --analysis assessments --references dev.jsonl --input assessments.jsonl
      nightjar analyse --benchmark protoqa --analysis concept_net --references dev.jsonl --input assertions.csv.gz
    """
    from nightjar.benchmarks.score import analyse as run

    with bytes_bar(analysis) as progress:
        return run(benchmark, analysis, references, file, encoder, progress)


def _shown(value: Any) -> Any:
    """A number with four decimals; a blank for None."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {count}" for name, count in value.items()) or "none"
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else value
