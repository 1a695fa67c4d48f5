"""The benchmark of packing: its padded passes have every token once, and the loss of the packed ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from bench.packing import padded_passes
from nightjar.models.load import load, prepare
from stages.train.model import loss_of
from stages.train.packing import IGNORED, pack


@pytest.mark.parametrize("full", [True, False])
def test_padded_passes_have_the_loss_of_packed_rows(tiny_model: Path, full: bool) -> None:
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    end = lm.tokenizer.end
    texts = [[*lm.tokenizer.encode(" " + "is the of " * n), end] for n in (1, 4, 2, 3, 9)]
    length = 40
    passes = padded_passes(texts, end, length, full)
    # A row has one column more than it has tokens to read: the last label, which transformers shifts.
    widths = [one["input_ids"].shape[1] - 1 for one in passes]
    assert all(len(one["input_ids"]) * width <= length for one, width in zip(passes, widths, strict=True))
    assert (len(passes) == len(texts)) == full and (set(widths) == {length}) == full
    counts = [int((one["labels"] != IGNORED).sum()) for one in passes]
    assert sum(counts) == sum(map(len, texts))
    with torch.no_grad():
        losses = [float(lm.model(**one).loss) * count for one, count in zip(passes, counts, strict=True)]
        together = float(loss_of(lm.model, pack([[([end], text) for text in texts]]), torch.float32))
    assert sum(losses) == pytest.approx(together, rel=1e-5)
