"""The command `prompts`: the test prompts, for a model of somebody's own to answer."""

from __future__ import annotations

from pathlib import Path

import click

from nightjar.core.errors import NightjarError
from nightjar.params import load
from nightjar.params.chat import Chat
from nightjar.predict.requests import write_prompts
from pipelines.commands.options import OUTPUT, CommandResult, benchmark_option, printed
from pipelines.commands.score import print_written


@click.command()
@benchmark_option
@click.option("--output", required=True, type=OUTPUT, help="The file to write.")
@click.option(
    "--encoding", metavar="NAME", help="A named encoding, such as def_pos1; by the parameters if not given."
)
@click.option("--chat", is_flag=True, help="Write messages of a chat in the place of a prompt.")
@click.option("--system-message", help="With --chat: the system message.")
@click.option("--examples-as-turns", is_flag=True, help="With --chat: the examples of a prompt are turns.")
@printed()
def prompts(
    benchmark: str,
    output: Path,
    encoding: str | None,
    chat: bool,
    system_message: str | None,
    examples_as_turns: bool,
) -> CommandResult:
    """Write the prompts of a benchmark, for a model of your own to answer (docs/own-model.md).

    One JSON line an instance, in the order of `nightjar references`: id, task, prompt, stop, max_tokens.
    The prompt is the exact text that the untuned model gets with the settings of params.yaml, without
    special tokens or a chat template. A line also has the choices of its question, if there are some. With
    --chat a line has messages. Score the answers, JSON Lines of {id, prediction}, with `nightjar score`.

    \b
    Example:
      nightjar prompts --benchmark supernatinst --output prompts.jsonl
      nightjar prompts --benchmark supernatinst --output prompts.jsonl --encoding def_pos2_neg2 --json
      nightjar prompts --benchmark classification --output messages.jsonl --chat --examples-as-turns
    """
    if (system_message or examples_as_turns) and not chat:
        raise NightjarError(
            "it goes with --chat", "--system-message, --examples-as-turns", "give --chat as well"
        )
    talk = Chat(system_message=system_message, examples_as_turns=examples_as_turns) if chat else None
    value = {"output": output, "n": write_prompts(load(), benchmark, output, encoding, talk)}
    return CommandResult(value, print_written)
