"""The command `prompts`: the test prompts, for a model of somebody's own to answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pipelines.commands.options import OUTPUT, benchmark_option, printed
from pipelines.commands.score import print_written


@click.command()
@benchmark_option
@click.option("--output", required=True, type=OUTPUT, help="The file to write.")
@click.option(
    "--encoding", metavar="NAME", help="A named encoding, such as def_pos1; by the parameters if not given."
)
@printed(print_written)
def prompts(benchmark: str, output: Path, encoding: str | None) -> dict[str, Any]:
    """Write the prompts of a benchmark, for a model of your own to answer (docs/own-model.md).

    One JSON line an instance, in the order of `nightjar references`: id, task, prompt, stop, max_tokens. The prompt
    is the exact text that the untuned model is shown under params.yaml, without special tokens or a chat template.
    Score the answers, JSON Lines of {id, prediction}, with `nightjar score`.

    \b
    Example:
      nightjar prompts --benchmark supernatinst --output prompts.jsonl
      nightjar prompts --benchmark supernatinst --output prompts.jsonl --encoding def_pos2_neg2 --json
    """
    from nightjar.params import load
    from nightjar.predict.requests import write_prompts

    return {"output": output, "n": write_prompts(load(), benchmark, output, encoding)}
