"""nightjar export: a trained system as a plain model directory."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from nightjar.core.errors import NightjarError
from nightjar.core.files import check_place, replace, temporary_sibling
from pipelines.commands.console import say
from pipelines.commands.options import FILE, prepare_model, printed

MODEL = Path("models/base/language_model")
# Files of a base model that are written anew, or belong to the project.
_OWN = ("config.json", "generation_config.json", "checksums.json", "README.md")


@click.command()
@click.argument("system")
@click.argument("directory", type=FILE)
@click.option(
    "--license", "licence", metavar="NAME", help="The base model's licence, where the project has no record."
)
@printed(lambda found: say(f"{found['output']}: {', '.join(found['files'])}"))
def export(system: str, directory: Path, licence: str | None) -> dict[str, Any]:
    """Write SYSTEM, a recipe or a directory of models/train, to a new DIRECTORY that transformers loads.

    It has the weights in float32 as safetensors (an adapter is merged), the tokenizer, the generation settings and a
    model card, README.md, with base model, data, recipe, scores and commit.

    \b
    Example:
      nightjar export tk_instruct exported/tk_instruct
    """
    if directory.exists() or directory.is_symlink():
        inside = f", such as {directory / Path(system).name}" if directory.is_dir() else ""
        raise NightjarError("it exists already", directory, f"name a new directory{inside}")
    check_place(directory)
    prepare_model()
    from pipelines.commands.model_card import card_of
    from stages.predict.asking import folder_of

    folder = folder_of(system)
    card = card_of(folder, licence)
    temporary = temporary_sibling(directory)
    try:
        _write_model(folder, temporary)
        (temporary / "README.md").write_text(card, encoding="utf-8")
        replace(temporary, directory)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return {"output": directory, "files": sorted(file.name for file in directory.iterdir())}


def _write_model(folder: Path, output: Path) -> None:
    """The merged weights, the configuration, the generation settings and the tokenizer."""
    from nightjar.core.params import load as load_params
    from nightjar.lm.load import load, prepare
    from nightjar.lm.sources import KEPT
    from stages.predict.asking import benchmark_of

    params = load_params()
    prepare(params.seed, params.threads)
    model: Any = load(MODEL, "float32", folder).model
    # The name that transformers records is a path of this machine.
    model.config._name_or_path = folder.name
    settings = params.predict.benchmark(benchmark_of(params, folder))
    model.generation_config.update(do_sample=False, max_new_tokens=settings.max_new_tokens)
    model.save_pretrained(output)
    for pattern in KEPT:
        for file in MODEL.glob(pattern):
            if file.suffix != ".safetensors" and file.name not in _OWN and "index" not in file.name:
                shutil.copyfile(file, output / file.name)
