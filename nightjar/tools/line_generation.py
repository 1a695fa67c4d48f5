"""Greedy lines after prompts, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch

from nightjar.models.forward import Prefix, prefill
from nightjar.models.generate import generate
from nightjar.models.load import LOADED, LanguageModel, load


@lru_cache(maxsize=2)
def model(folder: Path, sha256: str) -> LanguageModel:
    """The model of a directory with this digest, loaded once for all tools that ask it.

    One that the process has loaded is used as it is, so that its weights are in memory once. Otherwise it is loaded in
    float32; on a GPU, where memory is short, in the precision of the model beside it.
    """
    beside = [one for one in LOADED if one.device.type != "cpu" or one.model.dtype == torch.float32]
    same = [one for one in beside if (one.sha256, one.adapter_sha256) == (sha256, None)]
    precisions = sorted({str(one.model.dtype).removeprefix("torch.") for one in beside})
    return same[0] if same else load(folder, *precisions[:1])


@lru_cache(maxsize=4)
def _state(lm: LanguageModel, head: str) -> Prefix:
    return prefill(lm, lm.tokenizer.encode(head))


def generate_lines(lm: LanguageModel, head: str, prompts: Sequence[str], most: int) -> list[str]:
    """The likeliest line after `head` and each of `prompts`, of at most `most` tokens; `head` is computed once.

    A line depends on its own prompt alone, as far as texts of the decode engine do (docs/reliability.md).
    """
    ids = [lm.tokenizer.encode(head + prompt) for prompt in prompts]
    if lm.encoder_decoder:
        return [generate(lm, [one], most, ["\n"])[0].text.strip() for one in ids]
    answers = generate(lm, ids, most, ["\n"], base=_state(lm, head))
    return [one.text.strip() for one in answers]
