"""Greedy lines after prompts, in batches, each as the model writes it for its prompt alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch

from nightjar.lm.forward import Prefix, prefill
from nightjar.lm.generate import Controller, Row, generate
from nightjar.lm.load import LanguageModel, load

# Rows of a batch.
BATCH = 16
# Logits as near as this may change their order with the rows that share a batch: in float32 these change the last bits,
# by about 1e-4.
NEAR = 0.01


class _Margins(Controller):
    """Records, for each row, by how much the likeliest token was ahead of the next, where it was closest."""

    def __init__(self, rows: int) -> None:
        self.smallest = [float("inf")] * rows

    def choose(self, row: Row, logits: torch.Tensor) -> int | None:
        first, second = logits.topk(2).values.tolist()
        self.smallest[row.number] = min(self.smallest[row.number], first - second)
        return None


@lru_cache(maxsize=2)
def model(folder: Path) -> LanguageModel:
    """The model of a directory in float32, loaded once for all tools that ask it."""
    return load(folder)


@lru_cache(maxsize=4)
def _state(lm: LanguageModel, head: str) -> Prefix:
    return prefill(lm, lm.tokenizer.encode(head))


def lines(lm: LanguageModel, head: str, prompts: Sequence[str], most: int) -> list[str]:
    """The likeliest line after `head` and each of `prompts`, of at most `most` tokens.

    `head` is computed once. A line depends on its own prompt alone: where the choice of a token was close, the row is
    decoded again in a batch of its own.
    """
    ids = [lm.tokenizer.encode(head + prompt) for prompt in prompts]
    if lm.encoder_decoder:
        return [generate(lm, [one], most, ["\n"])[0].text.strip() for one in ids]
    base = _state(lm, head)
    order = sorted(range(len(ids)), key=lambda row: -len(ids[row]))
    found = {}
    for first in range(0, len(order), BATCH):
        rows = order[first : first + BATCH]
        margins = _Margins(len(rows))
        given = generate(lm, [ids[row] for row in rows], most, ["\n"], controller=margins, base=base)
        for row, one, margin in zip(rows, given, margins.smallest, strict=True):
            alone = len(rows) > 1 and margin < NEAR
            text = generate(lm, [ids[row]], most, ["\n"], base=base)[0].text if alone else one.text
            found[row] = text.strip()
    return [found[row] for row in range(len(ids))]
