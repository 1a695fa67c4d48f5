"""A language model in this process: its weights, its tokenizer, and the engine that reads sequences by them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch

from nightjar.core.errors import NightjarError
from nightjar.models.directory.pretrained import position_limit
from nightjar.models.tokenizer import Tokenizer


class Engine(StrEnum):
    """The way in which a model reads sequences.

    ROWS: packed, one after another without padding. PADDED: as a padded batch. CACHED and PLAIN: each sequence by the
    model's own forward, with or without the model's own cache.
    """

    ROWS = "rows"
    PADDED = "padded"
    CACHED = "cached"
    PLAIN = "plain"

    @property
    def alone(self) -> bool:
        """True if sequences share no pass."""
        return self in (Engine.CACHED, Engine.PLAIN)


@dataclass(frozen=True)
class LanguageModel:
    """A model in evaluation mode on its device, its tokenizer, and the digests that identify it.

    `engine` is chosen when the model is loaded, so that the model's own logits result (`equality`).
    """

    model: Any
    tokenizer: Tokenizer
    sha256: str
    adapter_sha256: str | None = None
    engine: Engine = Engine.PADDED

    @property
    def encoder_decoder(self) -> bool:
        """True if an encoder reads the prompt and a decoder writes the answer, as in T5."""
        return self.tokenizer.encoder_decoder

    @property
    def positions(self) -> int | None:
        """The tokens that the model has positions for; None where these have no end."""
        return position_limit(self.model, 0) or None

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.device
        return device


def causal_only(lm: LanguageModel, task: str) -> None:
    """Raise NightjarError if a task for causal models is asked of an encoder-decoder."""
    if lm.encoder_decoder:
        problem = f"{task} needs a causal model, this one is an encoder-decoder"
        raise NightjarError(problem, "models.language_model", "use another model, or leave these stages out")
