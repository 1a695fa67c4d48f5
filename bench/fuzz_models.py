"""Readers of model directories for bench/fuzz.py: one file of a tiny model is broken, the others are as they were.

The models are those of tests/tiny_models.py. What is not refused must answer a short text.
"""

from __future__ import annotations

import atexit
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import torch

from bench import mutate
from bench.mutate import Reader
from nightjar.models.generate import generate
from nightjar.models.load import LanguageModel, load, prepare
from nightjar.models.reader import encode
from nightjar.models.reader import load as load_reader
from nightjar.models.weights import check, read_recipe
from nightjar.params.data import ModelSource
from nightjar.search.encoder import SentenceEncoder
from stages.base_model.prepare import make_ready
from tests import tiny_models
from tests.gguf_models import as_gguf

TEXT = "Definition: a b\nOutput:"
CONFIG, WEIGHTS = "config.json", "model.safetensors"


@cache
def _models() -> Path:
    """A folder with a model of each kind, an adapter and a GGUF, made once a process."""
    prepare(seed=0, threads=1)
    root = Path(tempfile.mkdtemp(prefix="nightjar-fuzz-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    for make in (tiny_models.language_model, tiny_models.encoder_decoder, tiny_models.sentence_encoder):
        (root / make.__name__).mkdir()
        make(root / make.__name__)
    tiny_models.adapter(root / "language_model", root / "adapter")
    (root / "gguf").mkdir()
    as_gguf(root / "language_model", root / "gguf")
    return root


def _data(model: str, file: str) -> bytes:
    return (_models() / model / file).read_bytes()


def _beside(path: Path, model: str) -> Path:
    """The folder of `path`, with the other files of a model."""
    for file in (_models() / model).iterdir():
        if not (path.parent / file.name).exists():
            shutil.copyfile(file, path.parent / file.name)
    return path.parent


def _answer(lm: LanguageModel) -> None:
    generate(lm, [lm.tokenizer.encode(TEXT)], 2)


def _language_model(path: Path) -> None:
    _answer(load(_beside(path, "language_model")))


def _encoder_decoder(path: Path) -> None:
    _answer(load(_beside(path, "encoder_decoder")))


def _adapter(path: Path) -> None:
    _answer(load(_models() / "language_model", adapter=_beside(path, "adapter")))


def _encoder(path: Path) -> None:
    vectors = SentenceEncoder(_beside(path, "sentence_encoder")).encode([TEXT, "a"])
    if not np.isfinite(vectors).all():
        raise AssertionError("a vector is not finite")


def _reader(path: Path) -> None:
    base = load_reader(_beside(path, "sentence_encoder"), 1)
    with torch.inference_mode():
        encode(base.reader, [base.tokens.input(TEXT, "a b", 16)])


def _gguf(path: Path) -> None:
    output = path.parents[1] / "made"
    shutil.rmtree(output, ignore_errors=True)
    make_ready(ModelSource(source=str(path.parent)), output)
    _answer(load(output))


def _recipe(path: Path) -> None:
    recipe = read_recipe(path.parent)
    range(recipe["evidence"])


def mutate_safetensors(data: bytes, rng: random.Random) -> bytes:
    """A weight file whose header, or some bytes, are changed; half the time the length of the header fits."""
    length = int.from_bytes(data[:8], "little")
    kind = rng.randrange(5)
    if kind == 0:
        return mutate.mutate_bytes(data, rng)
    if kind == 1:
        return rng.choice((b"", data[:7], data[: rng.randrange(len(data))], data + b"\0", bytes(len(data))))
    if kind == 2:  # values that are no numbers, or far too large
        place = rng.randrange(8 + length, len(data) - 4)
        return data[:place] + rng.choice((b"\xff", b"\x7f")) * 4 + data[place + 4 :]
    header = mutate.mutate_json(data[8 : 8 + length], rng)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def mutate_gguf(data: bytes, rng: random.Random) -> bytes:
    """A GGUF with changed bytes, most of them near its beginning, where its numbers are."""
    if rng.random() < 0.3:
        return mutate.mutate_bytes(data, rng)
    place = rng.randrange(rng.choice((40, 1000, len(data) - 8)))
    value = rng.choice((0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, rng.randrange(2**64)))
    width = rng.choice((1, 4, 8))
    return data[:place] + value.to_bytes(8, "little")[:width] + data[place + width :]


def readers() -> list[Reader]:
    """Those of model directories."""
    jsons, tensors = mutate.mutate_json, mutate_safetensors
    lm, t5, encoder, adapter = "language_model", "encoder_decoder", "sentence_encoder", "adapter"
    recipe = json.dumps({"data": "train", "recipe": "mine", "calls": True, "evidence": 1}).encode()
    limits = json.dumps({"max_seq_length": 64, "do_lower_case": False}).encode()
    index = json.dumps({"metadata": {"total_size": 1}, "weight_map": {"a": WEIGHTS}}).encode()

    def of(name: str, model: str, file: str, change: mutate.Mutate, read: Callable[[Path], object]) -> Reader:
        return Reader(name, (_data(model, file),), change, f"model/{file}", read, 0.1)

    return [
        of("model: config.json", lm, CONFIG, jsons, _language_model),
        of("model: weights", lm, WEIGHTS, tensors, _language_model),
        of("model: tokenizer.json", lm, "tokenizer.json", jsons, _language_model),
        of("model: tokenizer_config.json", lm, "tokenizer_config.json", jsons, _language_model),
        of("model: generation_config.json", lm, "generation_config.json", jsons, _language_model),
        of("encoder-decoder: config.json", t5, CONFIG, jsons, _encoder_decoder),
        of("encoder-decoder: weights", t5, WEIGHTS, tensors, _encoder_decoder),
        of("adapter: config", adapter, "adapter_config.json", jsons, _adapter),
        of("adapter: weights", adapter, "adapter_model.safetensors", tensors, _adapter),
        of("encoder: config.json", encoder, CONFIG, jsons, _encoder),
        of("encoder: weights", encoder, WEIGHTS, tensors, _encoder),
        Reader("encoder: limits", (limits,), jsons, "model/sentence_bert_config.json", _encoder, 0.1),
        of("reader: config.json", encoder, CONFIG, jsons, _reader),
        of("reader: tokenizer.json", encoder, "tokenizer.json", jsons, _reader),
        Reader("GGUF", (_data("gguf", "tiny.gguf"),), mutate_gguf, "source/tiny.gguf", _gguf, 0.03),
        Reader("model: shards", (index,), jsons, "model/model.safetensors.index.json",
               lambda path: check(_beside(path, lm)), 0.1),
        Reader("recipe.json", (recipe,), jsons, "model/recipe.json", _recipe, 0.1),
    ]  # fmt: skip
