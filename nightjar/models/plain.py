"""The forward pass of a model as transformers has it: one text from its beginning, no padding, nothing kept.

No option is given that could choose another path through the model: without its cache, xLSTM fails in bfloat16.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch


@torch.inference_mode()
def plain_logits(model: Any, ids: Sequence[int], last: int | None = None) -> torch.Tensor:
    """The (tokens, vocabulary) logits behind each of the ids, or behind the `last` ones, in float32."""
    logits: torch.Tensor = _forward(model, model, ids, last).logits[0, -(last or len(ids)) :].float()
    return logits


@torch.inference_mode()
def plain_answer_logits(model: Any, ids: Sequence[int], written: Sequence[int]) -> torch.Tensor:
    """The (tokens, vocabulary) logits of an encoder-decoder behind each id of its answer, in float32.

    With a cache, FSMT reads the last id alone.
    """
    source, target = (torch.tensor([list(part)], device=model.device) for part in (ids, written))
    logits: torch.Tensor = (
        model(input_ids=source, decoder_input_ids=target, use_cache=False).logits[0].float()
    )
    return logits


@torch.inference_mode()
def plain_states(model: Any, ids: Sequence[int]) -> torch.Tensor:
    """The last hidden state at each of the ids, (tokens, hidden size) in float32."""
    states: torch.Tensor = _forward(model, model.base_model, ids).last_hidden_state[0].float()
    return states


def _forward(model: Any, part: Any, ids: Sequence[int], last: int | None = None) -> Any:
    names = inspect.signature(part.forward).parameters
    options = {"logits_to_keep": last} if last and "logits_to_keep" in names else {}
    return part(input_ids=torch.tensor([list(ids)], device=model.device), **options)
