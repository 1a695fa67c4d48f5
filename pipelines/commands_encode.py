"""The command `encode`: what a model is shown, for an instance or, as TSV, for all of a task."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from stages.errors import NightjarError

if TYPE_CHECKING:
    from stages.params import Encoding

FLAGS = ("positive_examples", "negative_examples", "explanation", "task_name", "no_definition")


@click.command()
@click.option(
    "--task",
    required=True,
    type=click.Path(path_type=Path),
    help="A task file in the Super-NaturalInstructions format.",
)
@click.option("--instance", type=int, help="Which of its instances, counted from 0.")
@click.option("--encoding", metavar="NAME", help="A named encoding, such as def_pos2_neg2; takes no flags.")
@click.option("--positive-examples", type=click.IntRange(min=0), default=2, show_default=True)
@click.option("--negative-examples", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--explanation", is_flag=True, help="With the explanations of the examples.")
@click.option("--task-name", is_flag=True, help="With the name of the task.")
@click.option("--no-definition", is_flag=True, help="Without the definition.")
@click.option("--trim-input", is_flag=True, help="Cut a long instance input instead of losing the end.")
@click.option(
    "--max-source-length", type=click.IntRange(min=1), default=1024, show_default=True, help="In tokens."
)
@click.option("--tsv", is_flag=True, help="All instances: input, tab, one reference; on one line each.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=42,
    show_default=True,
    help="For what is drawn: the reference of --tsv, the encoding of --encoding tk_instruct.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    tokens count, as published.

    \b
    Example:
      nightjar encode --task task001.json --instance 0
      nightjar encode --task task001.json --instance 0 --encoding def_pos2_neg2_expl --json
      nightjar encode --task task001.json --tsv > task001.tsv
    """
    from stages.prompts.gpt2_bpe import Gpt2Bpe, load
    from stages.prompts.inspect import encode_file, tsv_lines
    from stages.prompts.remember import remembering

    options = _options(context, encoding, trim_input, max_source_length, flags)
    if tsv:
        if instance is not None or as_json:
            raise NightjarError(
                "it prints all instances, as TSV", "--tsv", "leave out --instance and --json, or --tsv"
            )
        for line in tsv_lines(task, options, remembering(Gpt2Bpe(), load()), seed):
            click.echo(line)
        return
    if instance is None:
        raise NightjarError("no instance chosen", "--instance", "give --instance N, or --tsv for all of them")
    result = encode_file(task, instance, options, _tokenizer(), seed)
    if as_json:
        click.echo(json.dumps(result, indent=2, ensure_ascii=False))
        return
    click.echo(result["source"])
    if sys.stdout.isatty():
        click.echo(f"\nreferences: {json.dumps(result['references'], ensure_ascii=False)}", err=True)


def _options(
    context: click.Context, name: str | None, trim_input: bool, most: int, flags: dict[str, Any]
) -> Encoding:
    from stages.params import Encoding
    from stages.prompts.encodings import named

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
        from stages.lm.load import load_tokenizer

        return load_tokenizer(model)
    from stages.prompts.gpt2_bpe import Gpt2Bpe

    return Gpt2Bpe()
