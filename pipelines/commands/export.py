"""nightjar export: a trained system as a plain model directory."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import click

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import folder_output, write_text
from nightjar.core.json_text import quote_short
from nightjar.models.directory.headers import read_json_object
from nightjar.models.directory.weights import COPIED_PATTERNS
from nightjar.models.tokenizer import SETTINGS
from nightjar.params import load as load_params
from nightjar.predict.predictor import folder_of
from pipelines.commands.console import say
from pipelines.commands.options import OUTPUT, TEXT, CommandResult, prepare_model, printed

# Settings of a tokenizer that say how it was loaded, and the length from which on transformers means no length.
_LOADING = ("is_local", "local_files_only")
_NO_LENGTH = 10**9
_TOKEN_IDS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
# Files of a base model that are written anew, or belong to the project.
_OWN = ("config.json", "generation_config.json", "checksums.json", "README.md")


@click.command()
@click.argument("system", type=TEXT)
@click.argument("directory", type=OUTPUT)
@click.option(
    "--license",
    "licence",
    type=TEXT,
    metavar="NAME",
    help="The base model's licence, where the project has no record.",
)
@printed()
def export(system: str, directory: Path, licence: str | None) -> CommandResult:
    """Write SYSTEM, a recipe or a directory of models/train, to a new DIRECTORY that transformers loads.

    It has the weights in float32 as safetensors (an adapter is merged), the tokenizer, the generation settings and a
    model card, README.md, with base model, data, recipe, scores and commit.

    \b
    Example:
      nightjar export tk_instruct exported/tk_instruct
    """
    if licence is not None and not re.fullmatch(r"[A-Za-z0-9][\w.+() -]{,99}", licence, re.ASCII):
        fix = "give one such as apache-2.0: letters, digits, spaces and .+-()"
        raise NightjarError(f"{quote_short(licence)} is not the name of a licence", "--license", fix)
    with folder_output(directory) as folder_in_work:
        folder = folder_of(system)  # PyTorch takes long to load
        prepare_model()
        from pipelines.commands.model_card import card_of

        card = card_of(folder, licence)
        _write_model(folder, folder_in_work)
        (folder_in_work / "README.md").write_text(card, encoding="utf-8")
        for file in folder_in_work.iterdir():  # safetensors lets nobody else read the weights
            file.chmod((folder_in_work / "README.md").stat().st_mode)
    files = sorted(file.name for file in directory.iterdir())
    value = {"output": directory, "files": files}
    return CommandResult(value, lambda export: say(f"{export['output']}: {', '.join(export['files'])}"))


def _write_model(folder: Path, output: Path) -> None:
    from safetensors import SafetensorError
    from transformers import GenerationConfig

    from nightjar.models.engine.loading import load, prepare

    params = load_params()
    prepare(params.seed, params.threads)
    model: Any = load(paths.LANGUAGE_MODEL, "float32", folder).model
    # The name that transformers records is a path of this machine.
    model.config._name_or_path = folder.name
    # No length and no stop texts: a harness that gives its own would have ours instead, and transformers refuses stop
    # texts from a caller that passes no tokenizer. The card's code has both.
    token_ids = {name: getattr(model.generation_config, name) for name in _TOKEN_IDS}
    model.generation_config = GenerationConfig(**token_ids, do_sample=False)
    try:
        model.save_pretrained(output)
    except SafetensorError as error:
        if number := re.search(r"os error (\d+)", str(error)):
            raise OSError(int(number[1]), str(error)) from None
        raise
    for pattern in COPIED_PATTERNS:
        for file in paths.LANGUAGE_MODEL.glob(pattern):
            if file.suffix != ".safetensors" and file.name not in _OWN and "index" not in file.name:
                shutil.copyfile(file, output / file.name)
    _clean_tokenizer_settings(output / SETTINGS, getattr(model.config, "max_position_embeddings", None))


def _clean_tokenizer_settings(file: Path, positions: int | None) -> None:
    """Remove what only says how the tokenizer was loaded here; the length is that of the model, where it has one."""
    if not file.is_file():
        return
    settings = read_json_object(file)
    kept_settings = {name: value for name, value in settings.items() if name not in _LOADING}
    if kept_settings.get("model_max_length", 0) > _NO_LENGTH:
        del kept_settings["model_max_length"]
        if positions:
            kept_settings["model_max_length"] = positions
    write_text(file, json.dumps(kept_settings, ensure_ascii=False, indent=2) + "\n")
