"""Greedy lines after prompts, in batches, each as the model writes it for its prompt alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch

from nightjar.models.engine.controller import Controller
from nightjar.models.engine.generation import generate
from nightjar.models.engine.kv_cache import Prefix
from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import LOADED, load
from nightjar.models.engine.sequences import GeneratedSequence
from nightjar.models.engine.shared_prefixes import prefill

# Rows of a batch.
BATCH = 16
# Logits as near as this may change their order with the rows that share a batch: in float32 these change the last bits,
# by about 1e-4; in bfloat16, where a logit of 16 to 32 is rounded to 1/8, by more.
NEAR, NEAR_IN_BFLOAT16 = 0.01, 0.5


class _Margins(Controller):
    """Records, for each row, by how much the likeliest token was ahead of the next, where it was closest."""

    def __init__(self, rows: int) -> None:
        self.smallest = [float("inf")] * rows

    def choose(self, row: GeneratedSequence, logits: torch.Tensor) -> int | None:
        first, second = logits.topk(2).values.tolist()
        self.smallest[row.number] = min(self.smallest[row.number], first - second)
        return None


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


def generate_lines(lm: LanguageModel, head: str, prompts: Sequence[str], max_tokens: int) -> list[str]:
    """The likeliest line after `head` and each of `prompts`, of at most `max_tokens` tokens.

    `head` is computed once. A line depends on its own prompt alone: where the choice of a token was close, the row is
    decoded again in a batch of its own.
    """
    ids = [lm.tokenizer.encode(head + prompt) for prompt in prompts]
    if lm.encoder_decoder:
        return [generate(lm, [generated], max_tokens, ["\n"])[0].text.strip() for generated in ids]
    base = _state(lm, head)
    order = sorted(range(len(ids)), key=lambda row: -len(ids[row]))
    rounded = lm.device.type != "cpu" and lm.model.dtype != torch.float32
    near, lines = NEAR_IN_BFLOAT16 if rounded else NEAR, {}
    for first in range(0, len(order), BATCH):
        rows = order[first : first + BATCH]
        margins = _Margins(len(rows))
        answers = generate(lm, [ids[row] for row in rows], max_tokens, ["\n"], controller=margins, base=base)
        for row, generated, margin in zip(rows, answers, margins.smallest, strict=True):
            alone = len(rows) > 1 and margin < near
            text = (
                generate(lm, [ids[row]], max_tokens, ["\n"], base=base)[0].text if alone else generated.text
            )
            lines[row] = text.strip()
    return [lines[row] for row in range(len(ids))]
