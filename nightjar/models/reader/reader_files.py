"""Readers on disk: the base with its checksum, and what training changed of it, as a small file of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForSeq2SeqLM

from nightjar.core.config import checked
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import read_object
from nightjar.models.directory.headers import refusing
from nightjar.models.directory.pretrained import check_finite, check_vocabulary, read_model
from nightjar.models.directory.weights import verify_checksum, write_checksums
from nightjar.models.reader.reader_modules import EncoderDecoder, FreshDecoder, ReaderModule, Trains
from nightjar.models.reader.reader_tokens import LONGEST_TARGET, ReaderTokenizer
from nightjar.models.tokenizer import PROBE, is_encoder_decoder
from nightjar.params.readers import ReaderRecipe

WEIGHTS, RECORD = "model.safetensors", "reader.json"
AGAIN = "train it again: nightjar rebuild train_reader"
# What a record has beside the keys of its recipe.
_KEYS = {"base": str, "base_sha256": str, "recipe": str, "tasks": dict}


@dataclass(frozen=True)
class UntrainedReader:
    """A reader as it is before training, on the GPU if there is one, its tokenizer, and the digest of its weights."""

    reader: ReaderModule
    tokens: ReaderTokenizer
    sha256: str

    @property
    def device(self) -> torch.device:
        return next(self.reader.parameters()).device


def load(folder: Path, decoder_layers: int) -> UntrainedReader:
    """An encoder-decoder, or an encoder with a fresh decoder of so many layers, drawn by torch's seed; in float32.

    Checksums are verified.
    """
    sha256 = verify_checksum(folder)
    tokens = ReaderTokenizer(folder)
    encoder_decoder = is_encoder_decoder(folder)
    fix = "give an encoder-decoder, or an encoder such as BERT"
    model = read_model(
        folder, AutoModelForSeq2SeqLM if encoder_decoder else AutoModel, torch.float32, fix=fix
    )
    check_vocabulary(tokens.ids(), model, folder)
    check_finite(model, tokens.input(PROBE, PROBE, LONGEST_TARGET), folder)
    with refusing("no reader can be made of this model", folder, fix):
        reader: ReaderModule = (
            EncoderDecoder(model) if encoder_decoder else FreshDecoder(model, decoder_layers, tokens.start)
        )
    reader.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    return UntrainedReader(reader, tokens, sha256)


def save(weights: dict[str, torch.Tensor], folder: Path) -> str:
    """Write the weights that learned, with a checksum, as float16: half the bytes; returns the digest."""
    small = {name: value.to(torch.float16).cpu().contiguous() for name, value in weights.items()}
    if not all(bool(value.isfinite().all()) for value in small.values()):
        raise NightjarError("the trained weights are no finite numbers", folder, "lower the learning rate")
    folder.mkdir(parents=True, exist_ok=True)
    save_file(small, folder / WEIGHTS, {"format": "pt"})
    return write_checksums(folder)


def read_record(folder: Path) -> tuple[dict[str, Any], ReaderRecipe]:
    """Read reader.json of trained readers: `base`, `base_sha256`, `recipe`, `tasks`; and their recipe."""
    record = read_object(folder / RECORD, AGAIN)
    recipe = checked(
        ReaderRecipe,
        {name: record[name] for name in ReaderRecipe.model_fields if name in record},
        folder / RECORD,
    )
    for key, kind in _KEYS.items():
        if not isinstance(record.get(key), kind):
            raise NightjarError(f"{key} is missing or of the wrong type", folder / RECORD, AGAIN)
    return record, recipe


@torch.no_grad()
def restore_weights(reader: ReaderModule, trains: Trains, folder: Path) -> str:
    """Put trained weights into a reader; returns their digest."""
    digest = verify_checksum(folder)
    with refusing("unreadable weights", folder, "make them again"):
        weights = load_file(folder / WEIGHTS)
    learning = reader.learning(trains)
    if {name: value.shape for name, value in weights.items()} != {n: p.shape for n, p in learning.items()}:
        what = "these are weights of another reader"
        raise NightjarError(what, folder, AGAIN)
    for name, parameter in learning.items():
        parameter.copy_(weights[name])
    return digest
