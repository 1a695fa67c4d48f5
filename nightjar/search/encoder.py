"""Sentence encoder: texts to unit vectors, by a transformer and mean pooling over its tokens.

This is how all-MiniLM-L6-v2 was trained to be used. (PGRA takes the pooler's output of bert-base-uncased,
sheet 4.2: another model with another pooling.)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from nightjar.core.errors import NightjarError, first_line
from nightjar.core.json_text import parse
from nightjar.lm.weights import verify

# Texts tokenised at a time, which bounds the memory that ids take.
_CHUNK = 4096


class SentenceEncoder:
    """An `Encoder` of a model directory (model.safetensors, config.json, tokenizer.json), on the GPU if there is one.

    Texts longer than `max_length` tokens are cut: the model's own limit, or the shorter one that
    sentence_bert_config.json names. Raises NightjarError if the directory is missing, damaged or of another
    kind.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        torch.set_num_threads(threads)
        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()
        self.sha256 = verify(path)
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
            model = AutoModel.from_pretrained(
                str(path), local_files_only=True, use_safetensors=True, dtype=torch.float32
            )
        except (OSError, ValueError, KeyError) as error:
            what = f"transformers cannot load this encoder ({first_line(error)})"
            fix = "set models.sentence_encoder.source to another, then: nightjar rebuild base_model"
            raise NightjarError(what, path, fix) from None
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._model = model.to(self._device).eval()
        self.dimension = int(model.config.hidden_size)
        self.max_length = _max_length(
            path, self._tokenizer.model_max_length, model.config.max_position_embeddings
        )

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the vectors: digest of the weights, pooling, normalisation, greatest length in tokens."""
        return {
            "sha256": self.sha256,
            "pooling": "mean",
            "normalised": True,
            "max_length": self.max_length,
        }

    def encode(self, texts: Sequence[str], batch_size: int = 64) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), dimension); a text without tokens gives zeros.

        Texts of similar length share a batch, so that little is spent on padding; a vector does not depend
        on the batch it was in beyond rounding (1e-5).
        """
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), _CHUNK):
            self._encode_chunk(texts[start : start + _CHUNK], batch_size, vectors[start : start + _CHUNK])
        return vectors

    def _encode_chunk(self, texts: Sequence[str], batch_size: int, vectors: NDArray[np.float32]) -> None:
        ids: list[list[int]] = self._tokenizer(list(texts), truncation=True, max_length=self.max_length)[
            "input_ids"
        ]
        order = [i for i in sorted(range(len(ids)), key=lambda i: len(ids[i])) if ids[i]]
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            vectors[rows] = self._forward([ids[i] for i in rows])

    @torch.inference_mode()
    def _forward(self, rows: list[list[int]]) -> NDArray[np.float32]:
        batch = self._tokenizer.pad({"input_ids": rows}, return_tensors="pt").to(self._device)
        states = self._model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(dim=1) / mask.sum(dim=1)
        vectors: NDArray[np.float32] = torch.nn.functional.normalize(mean, dim=1).cpu().numpy()
        return vectors


def _max_length(path: Path, *limits: int) -> int:
    """The smallest of `limits` and the one in sentence_bert_config.json, if there is that file."""
    settings = path / "sentence_bert_config.json"
    if settings.exists():
        try:
            limits = (*limits, int(parse(settings.read_bytes())["max_seq_length"]))
        except (ValueError, KeyError, TypeError):
            raise NightjarError(
                "no whole number max_seq_length", settings, "mend or remove the file"
            ) from None
    return min(limits)
