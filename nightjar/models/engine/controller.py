"""Controllers steer the decoding of sequences: `tools/decode.py` has the one that calls tools."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import torch

from nightjar.models.engine.sequences import GeneratedSequence


class ControllerAction(Enum):
    """An action that a controller can ask for beside feeding text."""

    TAKE_BACK = "remove what was written since the last token the controller chose, that token included"
    WAIT = "read no more of this sequence until the controller's `results` has text for it, or takes it back"
    END = "end this text here"


class Controller:
    """Base of controllers, which changes nothing."""

    def choose(self, sequence: GeneratedSequence, logits: torch.Tensor) -> int | None:
        """Choose a token in the place of the model's choice by the (vocabulary,) logits; None for the model's.

        Tokens are forbidden by setting their logits to minus infinity, in place.
        """
        return None

    def after(self, sequence: GeneratedSequence) -> ControllerAction | None:
        """Choose an action when the model has read the tokens written so far."""
        return None

    def holds(self, sequence: GeneratedSequence) -> bool:
        """Return True if an end token or stop string does not end the text now; the controller must deal with it."""
        return False

    def ready(self, sequences: Sequence[GeneratedSequence], wait: bool) -> list[GeneratedSequence]:
        """Return the waiting sequences whose results have arrived. With `wait`, block until there is one at least."""
        return list(sequences)

    def results(self, sequences: Sequence[GeneratedSequence]) -> list[str | None]:
        """Return for each sequence, all ready, the text to feed in; None takes back what was written."""
        return [None] * len(sequences)
