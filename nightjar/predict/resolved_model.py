"""The model that a user names on the command line: its weights, the language model behind them, and what it reads."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.models.backends import backend
from nightjar.models.directory.headers import AGAIN, read_json_object
from nightjar.models.directory.preparation import origin_facts, prepare_model, prepare_tokenizer
from nightjar.models.directory.weights import CHECKSUMS, RECIPE, check_directory, read_recipe, verify_checksum
from nightjar.models.source import ModelSource
from nightjar.params.inputs import PinnedSource

ADAPTER = "adapter_config.json"


@dataclass(frozen=True)
class ResolvedModel:
    """The weights of a system that answers with a named model, and the source of its language model.

    The language model of an adapter is its base. A model without files has the project's language model, whose
    tokenizer limits the prompts. `evidence` is the number of passages in a prompt.
    """

    weights: str
    language_model: str = paths.LANGUAGE_MODEL.as_posix()
    evidence: int = 0

    @property
    def remote(self) -> bool:
        """True for a model that answers from elsewhere (`ModelSource.remote`)."""
        return ModelSource.parse(self.weights).remote

    @property
    def adapter(self) -> Path | None:
        """The folder of an adapter, or of a model that the stage train made; None for neither."""
        return None if self.remote or Path(self.weights) == paths.LANGUAGE_MODEL else Path(self.weights)

    def base(self, prepared: Path) -> Path:
        """Return the folder of the language model: its own if it can be read there, else `prepared` (`prepare`)."""
        folder = Path(self.language_model)
        complete = (folder / "tokenizer.json").is_file() and any(folder.glob("*.safetensors"))
        return folder if complete and not ModelSource.parse(self.language_model).installed else prepared

    def prepare(self, prepared: Path) -> dict[str, Any] | None:
        """Make the language model ready in the folder `prepared`, unless it is read in its own folder (`base`).

        Of the language model of a model without files, the tokenizer alone is made ready. Returns the facts of its
        origin; None for the project's own, which has facts. Raises NightjarError for a model that is missing or
        damaged, and as `prepare_model` does.
        """
        source, project_folder = self.language_model, paths.LANGUAGE_MODEL
        if Path(source) == project_folder and not project_folder.is_dir():
            what = "the project's language model is missing"
            raise NightjarError(what, project_folder, "run: nightjar rebuild base_model")
        if self.adapter:
            check_directory(self.adapter)
        folder = self.base(prepared)
        if self.remote and folder == prepared:
            prepare_tokenizer(PinnedSource(source=source), prepared)
            return None
        if folder == prepared:
            return prepare_model(PinnedSource(source=source), prepared)
        checksums = verify_checksum(folder)
        project_model = folder.resolve() == project_folder.resolve() and (folder / CHECKSUMS).is_file()
        return None if project_model else origin_facts(source, folder, folder, checksums, checksums)


def system_name(source: str) -> str:
    """Return the name of a system that answers with a source: up to 100 lower-case letters, digits and underscores."""
    parsed = ModelSource.parse(source)
    if parsed.remote:
        name = backend(source).name(parsed.name, parsed.argument)
    else:
        name = parsed.name if parsed.installed else Path(os.path.realpath(source)).name
    words = re.sub(r"[^a-z0-9]+", "_", name.rpartition("/")[2].lower()).strip("_")[:100]
    return words if words[:1].isalpha() else f"model_{words}".rstrip("_")


def resolve(source: str) -> ResolvedModel:
    """Return the model that a source names; nothing is loaded or made.

    Raises NightjarError for a damaged adapter, recipe or address, and for an adapter without a base or on another one.
    """
    parsed = ModelSource.parse(source)
    if parsed.remote:
        backend(source).check_source(parsed.name, parsed.argument)
        return ResolvedModel(source)
    folder = Path(source)
    if parsed.installed or not _is_trained(folder):
        return ResolvedModel(paths.LANGUAGE_MODEL.as_posix(), source)
    if _is_trained(Path(base := _base_of(folder))):
        raise NightjarError(f"its base model {base} is an adapter itself", folder, "merge the two first")
    evidence = read_recipe(folder)["evidence"] if (folder / RECIPE).is_file() else 0
    return ResolvedModel(source, base, evidence)


def _is_trained(folder: Path) -> bool:
    """Return whether `folder` is that of an adapter or of a model that the stage train made."""
    return any((folder / name).is_file() for name in (ADAPTER, RECIPE))


def _base_of(adapter: Path) -> str:
    """Return the source of an adapter's base model; for a trained model, the project's, whose tokenizer it has."""
    if not (adapter / ADAPTER).is_file():
        return paths.LANGUAGE_MODEL.as_posix()
    check_directory(adapter)
    config = read_json_object(adapter / ADAPTER)
    if not isinstance(name := config.get("base_model_name_or_path"), str) or not name:
        raise NightjarError("it names no base_model_name_or_path", adapter / ADAPTER, AGAIN)
    if Path(name).exists() or name.startswith(("models/", "/", ".")):
        return name
    revision = config.get("revision")
    return f"hub:{name}@{revision}" if revision else f"hub:{name}"
