"""The command `encode`: what a model is shown, for an instance or, as TSV, for all of a task."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import PIPE, check_input
from pipelines.commands.console import say, say_exact, say_json
from pipelines.commands.options import FILE, as_json_option

if TYPE_CHECKING:
    from nightjar.core.params import Encoding
    from stages.ingest.task_file import TaskFile

MOST = 1_000_000_000
FORMAT = "give a Super-NaturalInstructions task file"
FLAGS = ("positive_examples", "negative_examples", "explanation", "task_name", "no_definition")


@click.command()
@click.option("--task", required=True, type=FILE, help="A task file in the Super-NaturalInstructions format.")
@click.option("--instance", type=click.IntRange(0, MOST), help="Which of its instances, counted from 0.")
@click.option("--encoding", metavar="NAME", help="A named encoding, such as def_pos2_neg2; takes no flags.")
@click.option("--positive-examples", type=click.IntRange(0, MOST), default=2, show_default=True)
@click.option("--negative-examples", type=click.IntRange(0, MOST), default=0, show_default=True)
@click.option("--explanation", is_flag=True, help="With the explanations of the examples.")
@click.option("--task-name", is_flag=True, help="With the name of the task.")
@click.option("--no-definition", is_flag=True, help="Without the definition.")
@click.option("--trim-input", is_flag=True, help="Cut a long instance input instead of losing the end.")
@click.option(
    "--max-source-length", type=click.IntRange(1, MOST), default=1024, show_default=True, help="In tokens."
)
@click.option("--tsv", is_flag=True, help="All instances: input, tab, one reference; on one line each.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=42,
    show_default=True,
    help="For what is drawn: the reference of --tsv, the encoding of --encoding tk_instruct.",
)
@as_json_option
@click.pass_context
def encode(
    context: click.Context,
    task: Path,
    instance: int | None,
    encoding: str | None,
    trim_input: bool,
    max_source_length: int,
    tsv: bool,
    seed: int,
    as_json: bool,
    **flags: Any,
) -> None:
    """Print the exact model input of an instance.

    Lengths are in tokens of models/base/language_model if that is there, else of GPT-2. With --tsv all
    instances are printed as the T5 code base reads them: every run of white space is one blank, and GPT-2's
    tokens count, as published. A task file is read as `nightjar ingest` reads it; instances that ingest
    refuses have no input, and --tsv leaves them out and counts them.

    \b
    Example:
      nightjar encode --task task001.json --instance 0
      nightjar encode --task task001.json --instance 0 --encoding def_pos2_neg2_expl --json
      nightjar encode --task task001.json --tsv > task001.tsv
    """
    from nightjar.prompts.gpt2_bpe import Gpt2Bpe, load
    from nightjar.prompts.inspect import encode_instance, tsv_lines
    from nightjar.prompts.remember import remembering

    options = _options(context, encoding, trim_input, max_source_length, flags)
    if tsv:
        if instance is not None or as_json:
            raise NightjarError(
                "it prints all instances, as TSV", "--tsv", "leave out --instance and --json, or --tsv"
            )
        read = _read(task)
        rows = _taken(read, task)
        # All of them before the first is printed: what goes wrong must not leave part of a file behind.
        lines = list(tsv_lines(read.head, rows, options, remembering(Gpt2Bpe(), load()), seed))
        _warn(read, task, refused=True)
        for line in lines:
            say_exact(line)
        return
    if instance is None:
        raise NightjarError("no instance chosen", "--instance", "give --instance N, or --tsv for all of them")
    read = _read(task)
    result = encode_instance(read.head, _chosen(read, task, instance), options, _tokenizer(), seed)
    _warn(read, task)
    if as_json:
        say_json(result)
        return
    say_exact(result["source"])
    if sys.stdout.isatty():
        say(err=True)
        say(f"references: {json.dumps(result['references'], ensure_ascii=False)}", err=True)


def _read(path: Path) -> TaskFile:
    """The task as ingest reads it, named after the file, as the published loader does.

    The keys that only the split needs, such as Categories, may be missing.
    """
    from stages.ingest.accounts import UnreadableFile
    from stages.ingest.task_file import read_any

    check_input(path, PIPE)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise from_os_error(error, path) or error from None
    # A name that is not UTF-8 would come as halves of characters, which no table holds.
    task_id = os.fsencode(path.stem).decode("utf-8", "backslashreplace")
    try:
        return read_any(data, "natural_instructions", f"{task_id}.json", task_id, complete=False)
    except UnreadableFile as error:
        raise NightjarError(str(error), path, FORMAT) from None


def _refusals(read: TaskFile) -> dict[int, str]:
    """Why ingest refuses an instance, by its place in the file from 0."""
    taken = set(read.instances["index"].to_pylist())
    left = [number for number in range(len(taken) + len(read.refused)) if number not in taken]
    # Both are in the order of the file.
    return {
        number: f"{row.reason}: {row.detail}" if row.detail else row.reason
        for number, row in zip(left, read.refused, strict=True)
    }


def _chosen(read: TaskFile, path: Path, number: int) -> dict[str, Any]:
    """The instance at place `number` of the file. Raises NightjarError if there is none, or ingest refuses it."""
    count = len(read.instances) + len(read.refused)
    if not 0 <= number < count:
        fix = f"give a number from 0 to {count - 1}"
        raise NightjarError(f"there is no instance {number} among {count}", path, fix)
    if reason := _refusals(read).get(number):
        fix = "mend it or choose another: ingest refuses it too"
        raise NightjarError(reason, f"{path}: Instances[{number}]", fix)
    return next(row for row in read.instances.to_pylist() if row["index"] == number)


def _taken(read: TaskFile, path: Path) -> list[dict[str, Any]]:
    """The instances that ingest accepts. Raises NightjarError if there are none."""
    if not len(read.instances):
        what = f"none of its {len(read.refused)} instances can be used ({_first(read)})"
        raise NightjarError(what, path, "mend the instances: ingest refuses them too")
    rows: list[dict[str, Any]] = read.instances.to_pylist()
    return rows


def _first(read: TaskFile) -> str:
    """The first instance that is refused."""
    number, reason = next(iter(_refusals(read).items()))
    return f"first Instances[{number}]: {reason}"


def _warn(read: TaskFile, path: Path, refused: bool = False) -> None:
    """Name what is left out: examples and, with `refused`, instances; a prompt shows no other entries of the head."""
    found = []
    if examples := [entry for entry in read.left_out if " Examples: " in entry]:
        found.append(f"{len(examples)} examples left out, first {examples[0]}")
    if refused and read.refused:
        taken, out = len(read.instances), len(read.refused)
        found.append(f"{taken + out} instances in, {taken} out, {out} refused ({_first(read)})")
    for line in found:
        say(f"nightjar: {path}: {' '.join(line.split())}", err=True)


def _options(
    context: click.Context, name: str | None, trim_input: bool, most: int, flags: dict[str, Any]
) -> Encoding:
    from nightjar.core.params import Encoding
    from nightjar.prompts.encodings import named

    options = Encoding(
        definition=not flags["no_definition"],
        positive_examples=flags["positive_examples"],
        negative_examples=flags["negative_examples"],
        explanation=flags["explanation"],
        task_name=flags["task_name"],
        mixed=False,
        trim_input=trim_input,
        max_source_length=most,
        max_target_length=128,
    )
    if name is None:
        return options
    for flag in FLAGS:
        if context.get_parameter_source(flag) is not ParameterSource.DEFAULT:
            option = "--" + flag.replace("_", "-")
            raise NightjarError(
                f"an encoding by name and {option}", "--encoding", "give either the name or the flags"
            )
    return named(options, name)


def _tokenizer() -> Any:
    """What counts tokens: the language model's own tokenizer where it was made ready, else GPT-2's."""
    model = Path("models/base/language_model")
    if model.is_dir():
        from nightjar.lm.tokenizer import load_tokenizer

        return load_tokenizer(model)
    from nightjar.prompts.gpt2_bpe import Gpt2Bpe

    return Gpt2Bpe()
