"""Sentence encoder: texts to vectors, by a transformer and one of three poolings (nightjar.search.pooling).

all-MiniLM-L6-v2 was trained with mean pooling; PGRA takes the pooler's output of bert-base-uncased. Of an
encoder-decoder such as T5 the encoder is taken, without the decoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModel, AutoModelForTextEncoding

from nightjar.core.arguments import AnyPath, check_list
from nightjar.core.errors import NightjarError
from nightjar.models.directory.headers import read_json_object, refusing
from nightjar.models.directory.pretrained import (
    check_finite,
    check_vocabulary,
    position_limit,
    read_model,
    read_tokenizer,
)
from nightjar.models.directory.weights import CONFIG, verify_checksum
from nightjar.models.tokenizer import PROBE, is_encoder_decoder, like_length
from nightjar.search.pooling import SETTING, Pooling, recorded

# Texts that are tokenised and sorted by length at a time, which bounds the memory that token ids take.
_CHUNK = 16_384
# Tokens of a batch, padding included. On one core, 2048 give a fifth more texts a second than 64 texts a batch.
_BATCH_TOKENS = {"cpu": 2048, "cuda": 65_536}
_OTHER = "set models.sentence_encoder.source to another, then: nightjar rebuild base_model"
# How the names of models end that write text.
_WRITERS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
# Tokens that T5 was trained on.
LONGEST_RELATIVE = 512


class SentenceEncoder:
    """An `Encoder` of a model directory (model.safetensors, config.json, tokenizer.json).

    It computes in bfloat16 on a GPU and in float32 without one, or with `device="cpu"`. Texts longer than `max_length`
    tokens are cut: the model's own limit, or the shorter one that sentence_bert_config.json names. `pooling` and
    `normalised` (vectors of unit length) are by default those of `nightjar.search.pooling.recorded`. Raises
    NightjarError if the directory is missing, damaged or of another kind, or lacks weights.
    """

    def __init__(
        self,
        path: AnyPath,
        threads: int = 1,
        pooling: Pooling | None = None,
        normalised: bool | None = None,
        device: str | None = None,
    ) -> None:
        path = Path(path)
        torch.set_num_threads(threads)
        self.sha256, self._path = verify_checksum(path), path
        own_pooling, own_normalised = recorded(path)
        self.pooling = pooling or own_pooling
        self.normalised = own_normalised if normalised is None else normalised
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._tokenizer, model = _load(path, torch.bfloat16 if self._device.type == "cuda" else torch.float32)
        if self.pooling == "pooler" and getattr(model, "pooler", None) is None:
            raise NightjarError("this encoder has no pooler", path, f"set {SETTING} to mean or cls")
        self._model = model.to(self._device).eval()
        with refusing("no encoder can be made of this model", path, _OTHER):
            self.dimension = int(model.config.hidden_size)
            self.max_length = _max_length(
                path, self._tokenizer.model_max_length, position_limit(model, LONGEST_RELATIVE)
            )

    @property
    def identity(self) -> dict[str, Any]:
        """Facts that decide the vectors: digest of the weights, pooling, normalisation, greatest length in tokens."""
        return {
            "sha256": self.sha256,
            "pooling": self.pooling,
            "normalised": self.normalised,
            "max_length": self.max_length,
        }

    def encode(self, texts: Sequence[str], batch_tokens: int | None = None) -> NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension); a text without tokens gives zeros.

        Texts of similar length share a batch of at most `batch_tokens` tokens (default: what the device is fastest
        with), so that little is spent on padding. A vector does not depend on the batch it was in beyond rounding (1e-5
        in float32).
        """
        check_list(texts, "texts")
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), _CHUNK):
            ids = self._token_ids(texts[start : start + _CHUNK])
            for rows in self._batches(ids, batch_tokens):
                vectors[np.add(rows, start)] = self._vectors([ids[row] for row in rows])
        if not np.isfinite(vectors).all():
            raise NightjarError("the vectors of this encoder are not finite", self._path, _OTHER)
        return vectors

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text as it is read: with special tokens, and cut to `max_length`."""
        return [len(row) for row in self._token_ids(texts)]

    def encode_after(
        self, context: str, texts: Sequence[str], length: int, batch_tokens: int | None = None
    ) -> NDArray[np.float32]:
        """The mean of the last hidden states of each text from the end of `context`, which it begins with (ProtoQA).

        Shape (len(texts), dimension), not of unit length. As published, texts are padded to `length` tokens without a
        mask, and the states of the end token and of the padding are in the mean. Batches as in `encode`.
        """
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        pad = self._tokenizer.pad_token_id or 0
        ids = [row + [pad] * (length - len(row)) for row in self._token_ids(texts)]
        # The token that ends the context alone is not in the texts.
        first = max(self.count_tokens([context])[0] - 1, 0)
        for rows in self._batches(ids, batch_tokens):
            output, _ = self._forward([ids[row] for row in rows])
            vectors[rows] = output.last_hidden_state[:, first:].float().mean(dim=1).cpu().numpy()
        return vectors

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        ids: list[list[int]] = self._tokenizer(list(texts), truncation=True, max_length=self.max_length)[
            "input_ids"
        ]
        return ids

    def _batches(self, ids: list[list[int]], budget: int | None) -> Iterator[list[int]]:
        """The numbers of all rows that have tokens, in batches."""
        token_rows = [row for row in range(len(ids)) if ids[row]]
        for batch in like_length(
            [len(ids[row]) for row in token_rows], budget or _BATCH_TOKENS[self._device.type]
        ):
            yield [token_rows[place] for place in batch]

    def _vectors(self, rows: list[list[int]]) -> NDArray[np.float32]:
        vectors = self._pooled(*self._forward(rows))
        if self.normalised:
            vectors = torch.nn.functional.normalize(vectors, dim=1)
        result: NDArray[np.float32] = vectors.cpu().numpy()
        return result

    @torch.inference_mode()
    def _forward(self, rows: list[list[int]]) -> tuple[Any, torch.Tensor]:
        """The model's output and the mask (texts, tokens) of token ids."""
        mask = _padded([[1] * len(row) for row in rows], 0).to(self._device)
        ids = _padded(rows, self._tokenizer.pad_token_id or 0).to(self._device)
        return self._model(input_ids=ids, attention_mask=mask), mask

    def _pooled(self, output: Any, mask: torch.Tensor) -> torch.Tensor:
        """Float32 vectors of shape (texts, dimension) of the model's output and its mask (texts, tokens)."""
        if self.pooling == "pooler":
            pooled: torch.Tensor = output.pooler_output.float()
            return pooled
        states: torch.Tensor = output.last_hidden_state.float()
        return states[:, 0] if self.pooling == "cls" else _mean(states, mask)


def _padded(rows: list[list[int]], value: int) -> torch.Tensor:
    """The rows as one tensor, filled up with `value`."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)


def _mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mean of the states (texts, tokens, dimension) in the mask; zeros for a text that has none there."""
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def _load(path: Path, dtype: torch.dtype) -> tuple[Any, Any]:
    """Tokenizer and model."""
    tokenizer = read_tokenizer(path)
    named = read_json_object(path / CONFIG).get("architectures")
    writers = (
        [name for name in named or () if str(name).endswith(_WRITERS)] if isinstance(named, list) else []
    )
    if writers and not is_encoder_decoder(path):
        what = f"no sentence encoder but a model that writes text ({', '.join(writers)})"
        raise NightjarError(what, path, "give the folder of an encoder, such as MiniLM, BERT, RoBERTa or T5")
    model = read_model(path, encoder_class(path), dtype, fix=_OTHER)
    check_vocabulary(tokenizer.get_vocab().values(), model, path)
    check_finite(model, tokenizer(PROBE)["input_ids"], path)
    return tokenizer, model


def encoder_class(path: Path) -> Any:
    """The class of transformers for the encoder of a directory: of an encoder-decoder, that of its encoder alone."""
    return AutoModelForTextEncoding if is_encoder_decoder(path) else AutoModel


def _max_length(path: Path, *limits: int) -> int:
    """The smallest of `limits` and the one in sentence_bert_config.json, if there is that file."""
    settings = path / "sentence_bert_config.json"
    if settings.exists():
        named = read_json_object(settings).get("max_seq_length")
        if type(named) is not int or named < 1:
            raise NightjarError("no whole number max_seq_length", settings, "fix or remove the file")
        limits = (*limits, named)
    return min(limits)
