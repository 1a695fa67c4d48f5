"""Nucleus sampling against its definition, by trying every number of tokens, and against expected frequencies."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nightjar.lm.sample import Sampling, generator_for, nucleus


@given(
    weights=st.lists(st.integers(1, 50), min_size=1, max_size=12),
    top_p=st.floats(0.01, 0.999),
)
def test_the_nucleus_is_the_smallest_set_that_reaches_top_p(weights: list[int], top_p: float) -> None:
    probabilities = torch.tensor(weights, dtype=torch.float64) / sum(weights)
    order = sorted(range(len(weights)), key=lambda token: (-weights[token], token))
    sums = [float(probabilities[order[:size]].sum()) for size in range(1, len(weights) + 1)]
    if any(abs(total - top_p) < 1e-9 for total in sums):
        return
    size = next((n for n, total in enumerate(sums, start=1) if total >= top_p), len(weights))
    kept = nucleus(probabilities, top_p)
    assert set(kept.nonzero()[:, 0].tolist()) == set(order[:size])
    assert torch.equal(kept[order[:size]], probabilities[order[:size]])


def test_tokens_are_drawn_as_often_as_temperature_and_nucleus_say() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0, 1.5])
    weights = (logits / 0.5).softmax(-1)
    # 0, 4 and 1 have 0.70, 0.26 and 0.09 of it; 0.95 takes in the third.
    sampling = Sampling(0.5, generator_for(1, "a"), top_p=0.95)
    drawn = Counter(sampling.draw(logits, 0) for _ in range(4000))
    assert set(drawn) == {0, 1, 4}
    inside = float(weights[[0, 1, 4]].sum())
    for token in drawn:
        assert drawn[token] / 4000 == pytest.approx(float(weights[token]) / inside, abs=0.025)


def test_a_generator_hangs_on_seed_and_text() -> None:
    def first(seed: int, text: str) -> float:
        return float(torch.rand(1, generator=generator_for(seed, text)))

    assert first(1, "a") == first(1, "a")
    assert len({first(1, "a"), first(2, "a"), first(1, "b")}) == 3
