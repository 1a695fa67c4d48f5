"""Sentence vectors: one by one against batched, pooling against a plain sum, the real model on sense."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    RobertaConfig,
    RobertaModel,
)

from nightjar.core.errors import NightjarError
from nightjar.search.encoder import SentenceEncoder
from nightjar.search.pooling import Pooling, write
from tests import made_tokenizers
from tests.tiny_models import encoder_decoder, language_model, sentence_encoder

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


@pytest.fixture(scope="module")
def with_pooler(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny encoder with a pooler."""
    folder = tmp_path_factory.mktemp("with_pooler")
    shutil.copytree(tiny, folder, dirs_exist_ok=True)
    torch.manual_seed(2)
    BertModel(BertConfig.from_pretrained(tiny)).save_pretrained(folder)
    return folder


def test_one_by_one_is_the_same_as_in_batches(tiny: Path) -> None:
    encoder = SentenceEncoder(tiny)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    for batch_tokens in (1, 30, 600, None):
        together = encoder.encode(TEXTS, batch_tokens)
        assert together.dtype == np.float32
        assert together.shape == (len(TEXTS), encoder.dimension)
        assert np.abs(together - alone).max() < 1e-5
    backwards = encoder.encode(TEXTS[::-1], 1500)[::-1]
    assert np.abs(backwards - alone).max() < 1e-5
    assert np.allclose(np.linalg.norm(alone, axis=1), [1, 1, 1, 1, 0, 1, 1], atol=1e-6)
    assert alone[0] @ alone[2] < 0.9999
    assert encoder.encode([]).shape == (0, 32)


def _states(folder: Path, *texts: str) -> NDArray[np.float64]:
    """The states of the tokens of a text or a pair, without padding, straight from transformers."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    ids = tokenizer(*([text] for text in texts), return_tensors="pt", truncation=True, max_length=512)
    with torch.no_grad():
        states: NDArray[np.float64] = model(**ids).last_hidden_state[0].double().numpy()
    return states


def _by_hand(folder: Path, pooling: Pooling, text: str) -> NDArray[np.float64]:
    """The vector of a text, not normalised."""
    states = _states(folder, text)
    if pooling == "mean":
        found: NDArray[np.float64] = states.sum(axis=0) / len(states)
        return found
    if pooling == "cls":
        return states[0]
    dense = AutoModel.from_pretrained(folder).pooler.dense.double()
    weight, bias = dense.weight.detach().numpy(), dense.bias.detach().numpy()
    return np.tanh(weight @ states[0] + bias)


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_poolings_are_those_of_transformers_by_hand(pooling: Pooling, with_pooler: Path) -> None:
    texts = ["Definition: the Input is a nightjar.", "x", "A longer text of several words " * 4]
    expected = np.array([_by_hand(with_pooler, pooling, text) for text in texts])
    plain = SentenceEncoder(with_pooler, pooling=pooling, normalised=False)
    assert np.abs(plain.encode(texts) - expected).max() < 1e-5
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    encoder = SentenceEncoder(with_pooler, pooling=pooling)
    assert np.abs(encoder.encode(texts) - expected).max() < 1e-5
    assert (encoder.identity["pooling"], encoder.identity["normalised"]) == (pooling, True)
    assert plain.identity != encoder.identity


def test_a_recorded_pooling_is_used(with_pooler: Path, tmp_path: Path) -> None:
    shutil.copytree(with_pooler, tmp_path, dirs_exist_ok=True)
    assert SentenceEncoder(tmp_path).identity["pooling"] == "mean"
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert SentenceEncoder(tmp_path).identity["pooling"] == "cls"
    write(tmp_path, "pooler", normalised=False)
    identity = SentenceEncoder(tmp_path).identity
    assert (identity["pooling"], identity["normalised"]) == ("pooler", False)


def test_a_missing_pooler_is_not_drawn_at_random(tiny: Path) -> None:
    with pytest.raises(NightjarError, match=r"has no pooler.*models\.sentence_encoder\.pooling"):
        SentenceEncoder(tiny, pooling="pooler")


def test_long_texts_are_cut_at_the_limit(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path, dirs_exist_ok=True)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    encoder = SentenceEncoder(tmp_path)
    assert encoder.max_length == 8
    assert SentenceEncoder(tiny).max_length == 512
    long, other = "qqqqqqqqqqqqqqqq", "qqqqqqqqzzzz"  # one token a letter
    assert np.abs(np.subtract(*encoder.encode([long, other]))).max() < 1e-6
    assert np.abs(np.subtract(*SentenceEncoder(tiny).encode([long, other]))).max() > 1e-3


@pytest.mark.slow
def test_minilm_tells_similar_from_unrelated(minilm: Path) -> None:
    encoder = SentenceEncoder(minilm)
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


CONTEXT = "one thing that falls from the sky is"
ANSWERS = ["rain", "Zürich 南京", "a shower of rain that lasts", ""]


def _after_by_hand(folder: Path, context: str, texts: list[str], pads: int) -> NDArray[np.float32]:
    """One batch of plain transformers without a mask, padded by `pads` more tokens than the longest text."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    ids = tokenizer(texts, padding=True, return_tensors="pt")["input_ids"]
    ids = torch.nn.functional.pad(ids, (0, pads), value=tokenizer.pad_token_id)
    with torch.inference_mode():
        states = model(ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    vectors: NDArray[np.float32] = states[:, len(tokenizer(context)["input_ids"]) - 1 :].mean(dim=1).numpy()
    return vectors


@pytest.mark.parametrize("pads", [0, 3])
def test_vectors_after_a_context_have_the_states_of_end_and_padding(tiny: Path, pads: int) -> None:
    texts = [f"{CONTEXT} {answer}" for answer in ANSWERS]
    encoder = SentenceEncoder(tiny)
    length = max(encoder.count_tokens(texts)) + pads
    expected = _after_by_hand(tiny, CONTEXT, texts, pads)
    assert np.abs(encoder.encode_after(CONTEXT, texts, length, 60) - expected).max() < 1e-5


def test_texts_after_a_context_that_are_too_long(tiny: Path) -> None:
    encoder = SentenceEncoder(tiny)
    assert encoder.count_tokens([]) == []
    assert encoder.encode_after("x", [], 8).shape == (0, encoder.dimension)
    context = "is in " * 9999
    assert encoder.count_tokens([f"{context} rain"]) == [encoder.max_length]
    vectors = encoder.encode_after(context, [f"{context} rain"], encoder.max_length)
    assert vectors.any() and np.isfinite(vectors).all()


def test_a_model_that_writes_is_no_encoder(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no sentence encoder but a model that writes text"):
        SentenceEncoder(language_model(tmp_path))


def test_the_vectors_of_an_encoder_decoder_are_means_of_its_encoder(tmp_path: Path) -> None:
    folder = encoder_decoder(tmp_path)
    texts = ["A short one.", "is in the of a " * 300]
    for text, vector in zip(texts, SentenceEncoder(folder).encode(texts), strict=True):
        mean = _by_hand(folder, "mean", text)
        assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    with pytest.raises(NightjarError, match="this encoder has no pooler"):
        SentenceEncoder(folder, pooling="pooler")


def roberta(folder: Path) -> Path:
    """A tiny RoBERTa: pairs are <s> context </s></s> text </s>, padding has the id 1, positions follow from it."""
    vocabulary = made_tokenizers.roberta(folder)
    torch.manual_seed(3)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = RobertaConfig(vocab_size=vocabulary, max_position_embeddings=130, pad_token_id=1, **sizes)
    RobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def test_vectors_after_a_context_by_roberta(tmp_path: Path) -> None:
    texts = [f"{CONTEXT} {answer}" for answer in ANSWERS]
    encoder = SentenceEncoder(roberta(tmp_path))
    vectors = encoder.encode_after(CONTEXT, texts, max(encoder.count_tokens(texts)))
    assert np.abs(vectors - _after_by_hand(tmp_path, CONTEXT, texts, 0)).max() < 1e-5


def test_the_positions_of_roberta_begin_after_the_padding(tmp_path: Path) -> None:
    encoder = SentenceEncoder(roberta(tmp_path))
    assert encoder.max_length == 128
    assert np.isfinite(encoder.encode(["x" * 500])).all()
    assert encoder.encode_after("y" * 500, ["y" * 500 + " x"], 128).any()
