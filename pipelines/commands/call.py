"""The command `call`: one call of a tool."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import click

from nightjar.core.config import PARAMS_FILE
from nightjar.params import load
from nightjar.params.groups import ALL_TOOLS
from nightjar.tools.tool_registry import call_text
from pipelines.commands.console import say_text
from pipelines.commands.options import FILE, CommandResult, printed


@click.command()
@click.argument("text", metavar="CALL")
@click.option(
    "--date",
    "day",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    default=datetime.now,
    help="The day of the call, for Calendar; by default today.",
)
@click.option("--resource", type=FILE, help="What the tool reads; WikiSearch by default data/index.")
@printed()
def call(text: str, day: datetime, resource: Path | None) -> CommandResult:
    """Run one tool call and print its result.

    The tools are those of Nightjar, such as Calculator, and of installed packages (entry points nightjar.tools);
    an unknown name lists them. Their settings are those of params.yaml, where there is one.

    \b
    Example:
      nightjar call "Calculator(400 / 1400)"
      nightjar call "Calendar()" --date 2024-02-29
      nightjar call "WikiSearch(harbour museum)" --resource data/ingest/corpus
    """
    # Not prepare_model: a tool may fetch its model from the hub.
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    settings = load().tools[ALL_TOOLS] if PARAMS_FILE.exists() else None
    value = {"call": text, "result": call_text(text, day.date(), resource, settings)}
    return CommandResult(value, lambda call: say_text(call["result"]))
