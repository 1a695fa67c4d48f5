"""Any model that a user names: a directory, an adapter, hub:NAME@REVISION, package:NAME or server:URL, made ready."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import replace, temporary_sibling
from nightjar.core.params import ModelSource
from nightjar.lm.headers import AGAIN, read_json_object
from nightjar.lm.server import PREFIX, Address
from nightjar.lm.sources import KEPT
from nightjar.lm.weights import CHECKSUMS, RECIPE, check, read_recipe, verify
from stages.base_model.prepare import check_complete, make_ready

MODEL = Path("models/base/language_model")
ADAPTER = "adapter_config.json"
# Where the weights of an adapter or a trained model are, and the record of a server.
TRAINED, SERVED = Path("models/trained"), Path("models/served")


@dataclass(frozen=True)
class Given:
    """A model as the stage predict reads it: the folder of its weights, and the passages that its prompts have.

    `server` is its address if it is behind one.
    """

    weights: Path
    evidence: int = 0
    server: Address | None = None


def name_of(source: str) -> str:
    """The name of a source as a system of the parameters: at most 100 lower-case letters, digits and underscores."""
    kind, _, rest = source.partition(":")
    if source.startswith(PREFIX):
        address = Address.parse(source)
        last = address.model or f"server_{address.url.partition('//')[2]}"
    elif kind in ("hub", "package"):
        last = rest.partition("@")[0]
    else:
        last = Path(os.path.realpath(source)).name
    words = re.sub(r"[^a-z0-9]+", "_", last.rpartition("/")[2].lower()).strip("_")[:100]
    return words if words[:1].isalpha() else f"model_{words}".rstrip("_")


def kind_of(source: str) -> Given:
    """What `make_given_ready` makes of a source, without making it.

    Raises NightjarError for a directory that is not there, and for a damaged recipe or address.
    """
    if source.startswith(PREFIX):
        return Given(SERVED, server=Address.parse(source))
    folder = Path(source)
    if source.partition(":")[0] in ("hub", "package") or not is_trained(folder):
        return Given(MODEL)
    recipe = read_recipe(folder) if (folder / RECIPE).is_file() else {"evidence": 0}
    return Given(TRAINED, recipe["evidence"])


def is_trained(folder: Path) -> bool:
    """Whether this is the directory of an adapter or of a model that the stage train made."""
    return any((folder / name).is_file() for name in (ADAPTER, RECIPE))


def folders(source: str, made: Path) -> tuple[Path, Path | None]:
    """The folder of the model of a source, and that of an adapter or trained model for it, None for neither.

    A directory of safetensors is read where it is; of other sources the model is put into the folder `made`. Raises
    NightjarError as `make_given_ready` does, and for a server.
    """
    if source.startswith(PREFIX):
        raise NightjarError(
            "a server cannot be asked here", source, "give a model, or use: nightjar evaluate"
        )
    folder = Path(source)
    local = source.partition(":")[0] not in ("hub", "package")
    if local and is_trained(folder):
        check(folder)
        base = _base_of(folder)
        if is_trained(Path(base)):
            raise NightjarError(f"its base model {base} is an adapter itself", folder, "merge the two first")
        return folders(base, made)[0], folder
    if local and any(folder.glob("*.safetensors")):
        return folder, None
    make_ready(ModelSource(source=source), made / MODEL.name)
    return made / MODEL.name, None


def make_given_ready(source: str, root: Path) -> dict[str, Any] | None:
    """Put the model of a source, and what its prompts need, into the folder `root`; what is there already remains.

    Of a server, the tokenizer of the project's language model limits the prompts. Base models that the project made are
    linked, others are copied as `make_ready` does. Returns the facts of a base model that was made now, else None.
    Raises NightjarError as `make_ready` does, and for an adapter that names no base or does not fit it.
    """
    if source.startswith(PREFIX):
        return _base(MODEL.as_posix(), root)
    folder = Path(source)
    if source.partition(":")[0] in ("hub", "package") or not is_trained(folder):
        return _base(source, root)
    check(folder)
    base = _base_of(folder)
    _copy(folder, root / TRAINED)
    facts = _base(base, root)
    check_complete(root / MODEL, root / TRAINED)
    return facts


def _base(source: str, root: Path) -> dict[str, Any] | None:
    made = root / MODEL
    if source == MODEL.as_posix() and not MODEL.is_dir():
        raise NightjarError(
            "the project's language model is missing", MODEL, "run: nightjar rebuild base_model"
        )
    if (Path(source) / CHECKSUMS).is_file():
        if not made.exists():
            verify(Path(source))
            _link(Path(source), made)
        return None
    return None if made.exists() else make_ready(ModelSource(source=source), made)


def _base_of(adapter: Path) -> str:
    """The source of the base model of an adapter, or of a model of the project, whose tokenizer is the base's."""
    if not (adapter / ADAPTER).is_file():
        return MODEL.as_posix()
    config = read_json_object(adapter / ADAPTER)
    if not isinstance(name := config.get("base_model_name_or_path"), str) or not name:
        raise NightjarError("it names no base_model_name_or_path", adapter / ADAPTER, AGAIN)
    if Path(name).exists() or name.startswith(("models/", "/", ".")):
        return name
    revision = config.get("revision")
    return f"hub:{name}@{revision}" if revision else f"hub:{name}"


def _copy(folder: Path, made: Path) -> None:
    """The files of an adapter; a recipe is added to one that was not trained here."""
    if made.exists():
        return
    temporary = temporary_sibling(made)
    temporary.mkdir()
    try:
        for pattern in KEPT:
            for file in sorted(folder.glob(pattern)):
                shutil.copyfile(file, temporary / file.name)
        if not (temporary / RECIPE).exists():
            recipe: Mapping[str, Any] = {"evidence": 0, "calls": False}
            (temporary / RECIPE).write_text(json.dumps(recipe) + "\n", encoding="utf-8")
        replace(temporary, made)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _link(folder: Path, made: Path) -> None:
    made.parent.mkdir(parents=True, exist_ok=True)
    made.symlink_to(folder.resolve(), target_is_directory=True)
