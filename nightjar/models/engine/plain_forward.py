"""The forward pass of a model as transformers has it: one text at a time, without padding.

No option is given that could choose another path through the model: without its cache, xLSTM fails in bfloat16.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

# The names of caches that models make for a text, as an argument and in their results.
CACHES = ("past_key_values", "cache_params", "state", "past_buckets_states")


@torch.inference_mode()
def plain_logits(model: Any, ids: Sequence[int], last: int | None = None) -> torch.Tensor:
    """The (tokens, vocabulary) logits behind each of the ids, or behind the `last` ones, in float32."""
    logits: torch.Tensor = run_forward(model, ids, last).logits[0, -(last or len(ids)) :].float()
    return logits


@dataclass
class ModelCache:
    """The cache that a model itself makes for the ids of one text; None before its first pass."""

    ids: list[int] = field(default_factory=list)
    state: Any = None


@torch.inference_mode()
def cached_logits(model: Any, ids: Sequence[int], cache: ModelCache) -> torch.Tensor:
    """The (1, vocabulary) logits behind a text, in float32, of which the model reads the last id alone if it can.

    Several new ids are read from the beginning: in many recurrent models a longer piece starts the states anew.
    """
    name = next(it for it in CACHES if it in inspect.signature(model.forward).parameters)
    if cache.state is not None and cache.ids == ids[:-1]:
        result = run_forward(model, ids[-1:], 1, use_cache=True, **{name: cache.state})
    else:
        result = run_forward(model, ids, 1, use_cache=True)
    cache.ids, cache.state = list(ids), getattr(result, name)
    logits: torch.Tensor = result.logits[0, -1:].float()
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
    states: torch.Tensor = run_forward(model.base_model, ids).last_hidden_state[0].float()
    return states


@torch.inference_mode()
def run_forward(model: Any, ids: Sequence[int], last: int | None = None, **more: Any) -> Any:
    """Return the result of a forward pass of a model, or of its base model, over these ids."""
    names = inspect.signature(model.forward).parameters
    options = {"logits_to_keep": last} if last and "logits_to_keep" in names else {}
    return model(input_ids=torch.tensor([list(ids)], device=model.device), **options, **more)
