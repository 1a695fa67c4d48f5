"""The command `encode`: what a model is shown, for an instance or, as TSV, for all of a task."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from nightjar.benchmarks.task_file import TaskFile, UnreadableFile, read_any
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import PIPE, check_input
from nightjar.params.inputs import Encoding
from nightjar.prompts.encodings import encode_instance, named, tsv_lines
from nightjar.prompts.gpt2_bpe import Gpt2Bpe
from pipelines.commands.console import say, say_exact
from pipelines.commands.options import COUNT, FILE, POSITIVE, SEED, CommandResult, printed

FORMAT = "give a Super-NaturalInstructions task file"


@click.command()
@click.option("--task", required=True, type=FILE, help="A task file in the Super-NaturalInstructions format.")
@click.option("--instance", type=COUNT, help="Which of its instances, counted from 0.")
@click.option(
    "--encoding",
    metavar="NAME",
    default="def_pos2",
    show_default=True,
    help="A named encoding, such as def_pos2_neg2.",
)
@click.option("--trim-input", is_flag=True, help="Cut a long instance input instead of losing the end.")
@click.option("--max-source-length", type=POSITIVE, default=1024, show_default=True, help="In tokens.")
@click.option("--tsv", is_flag=True, help="All instances: input, tab, one reference; on one line each.")
@click.option(
    "--seed",
    type=SEED,
    default=42,
    show_default=True,
    help="For what is drawn: the reference of --tsv, the encoding of --encoding tk_instruct.",
)
@printed()
def encode(
    task: Path,
    instance: int | None,
    encoding: str,
    trim_input: bool,
    max_source_length: int,
    tsv: bool,
    seed: int,
) -> CommandResult:
    """Print the exact model input of an instance.

    Lengths are in tokens of models/base/language_model if that exists, else of GPT-2. With --tsv all
    instances are printed as the T5 code base reads them: every run of white space is one blank, and lengths
    are in tokens of GPT-2, as published. A task file is read as `nightjar ingest` reads it. Instances that
    ingest rejects have no input; --tsv leaves them out and counts them.

    \b
    Example:
      nightjar encode --task task001.json --instance 0
      nightjar encode --task task001.json --instance 0 --encoding def_pos2_neg2_expl --json
      nightjar encode --task task001.json --tsv > task001.tsv
    """
    if tsv and (instance is not None or click.get_current_context().params["as_json"]):
        fix = "leave out --instance and --json, or --tsv"
        raise NightjarError("it prints all instances, as TSV", "--tsv", fix)
    if instance is None and not tsv:
        raise NightjarError("no instance chosen", "--instance", "give --instance N, or --tsv for all of them")
    options = _options(encoding, trim_input, max_source_length)
    read = _read(task)
    rows = {row["index"]: row for row in read.instances.to_pylist()}
    count = len(rows) + len(read.refused)
    # Those that ingest refuses are in the order of the file, too.
    refused_numbers = (number for number in range(count) if number not in rows)
    reasons = {
        number: f"{it.reason}: {it.detail}" if it.detail else it.reason
        for number, it in zip(refused_numbers, read.refused, strict=True)
    }
    first = next((f"first Instances[{number}]: {reason}" for number, reason in reasons.items()), "")
    if instance is None:
        if not rows:
            what = f"none of its {count} instances can be used ({first})"
            raise NightjarError(what, task, "fix the instances: ingest refuses them too")
        # All of them before the first is printed: an error must not leave part of a file behind.
        lines = list(tsv_lines(read.head, rows.values(), options, Gpt2Bpe(), seed))
        if reasons:
            _warn(task, f"{count} instances in, {len(rows)} out, {len(reasons)} refused ({first})")
    elif instance in rows:
        result = encode_instance(read.head, rows[instance], options, _tokenizer(), seed)
    elif instance in reasons:
        fix = "fix it or choose another: ingest refuses it too"
        raise NightjarError(reasons[instance], f"{task}: Instances[{instance}]", fix)
    else:
        what = f"there is no instance {instance} among {count}"
        raise NightjarError(what, task, f"give a number from 0 to {count - 1}")
    # A prompt shows nothing else of the head.
    if examples := [entry for entry in read.left_out if " Examples: " in entry]:
        _warn(task, f"{len(examples)} examples left out, first {examples[0]}")
    if instance is None:
        return CommandResult(lines, lambda lines: say_exact("\n".join(lines)))
    return CommandResult(result, _print)


def _print(result: dict[str, Any]) -> None:
    say_exact(result["source"])
    if sys.stdout.isatty():
        say(err=True)
        say(f"references: {json.dumps(result['references'], ensure_ascii=False)}", err=True)


def _warn(path: Path, text: str) -> None:
    say(f"nightjar: {path}: {' '.join(text.split())}", err=True)


def _read(path: Path) -> TaskFile:
    """The task as ingest reads it, named after the file, as the published loader does.

    The keys that only the split needs, such as Categories, may be missing.
    """
    check_input(path, PIPE)
    # A name that is not UTF-8 would come as halves of characters, which no table holds.
    task_id = os.fsencode(path.stem).decode("utf-8", "backslashreplace")
    try:
        return read_any(path.read_bytes(), "natural_instructions", f"{task_id}.json", task_id, complete=False)
    except UnreadableFile as error:
        raise NightjarError(str(error), path, FORMAT) from None


def _options(name: str, trim_input: bool, source_length: int) -> Encoding:
    options = Encoding(
        definition=True,
        positive_examples=2,
        negative_examples=0,
        explanation=False,
        task_name=False,
        mixed=False,
        trim_input=trim_input,
        max_source_length=source_length,
        max_target_length=128,
    )
    return named(options, name)


def _tokenizer() -> Any:
    """Return the tokenizer that counts: the language model's own tokenizer where it was made ready, else GPT-2's."""
    model = paths.LANGUAGE_MODEL
    if model.is_dir():
        from nightjar.models.tokenizer import load_tokenizer

        return load_tokenizer(model)
    return Gpt2Bpe()
