"""Reading on from a batch's state, and a part of its rows, against a plain pass over each row's whole text."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nightjar.lm.forward import extend, forward, select
from nightjar.lm.load import LanguageModel, load, prepare


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


def plain(lm: LanguageModel, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        return lm.model(input_ids=torch.tensor([ids])).logits[0, -1].float()


IDS = st.lists(st.integers(1, 300), min_size=1, max_size=7)


@settings(max_examples=30)
@given(st.lists(IDS, min_size=1, max_size=4), st.data())
def test_rows_that_wait_and_are_selected_give_what_each_gives_alone(
    lm: LanguageModel, rows: list[list[int]], data: st.DataObject
) -> None:
    batch = forward(lm, rows, keep=1)
    texts = [list(row) for row in rows]
    numbers = list(range(len(rows)))
    for _ in range(3):
        if data.draw(st.booleans()):
            kept = data.draw(st.lists(st.sampled_from(range(len(numbers))), min_size=1, unique=True))
            batch, numbers = select(batch, kept), [numbers[place] for place in kept]
            assert int(batch.mask.sum(1).max()) >= batch.mask.shape[1] - 1
            # Each row's tokens are its last columns.
            assert all(row == sorted(row) for row in batch.mask.tolist())
        more = [data.draw(st.lists(st.integers(1, 300), max_size=4)) for _ in numbers]
        if not any(more):
            continue
        batch = extend(lm, batch, more)
        for place, number in enumerate(numbers):
            texts[number] += more[place]
            if more[place]:
                wanted = plain(lm, texts[number])
                assert torch.allclose(batch.logits[place, -1], wanted, atol=1e-4)
        assert batch.mask.sum(1).tolist() == [len(texts[number]) for number in numbers]
