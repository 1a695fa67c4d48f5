"""Counts of draws with replacement against the exact multinomial and binomial, on every path of the code."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nightjar.statistics import resample
from nightjar.statistics.resample import HEAVIEST, Draws

SAMPLES = 20_000


def drawn(weights: list[int], sizes: list[int], seed: int = 5) -> NDArray[np.int64]:
    found = Draws(np.array(weights)).counts(np.array(sizes, np.int64), np.random.default_rng(seed))
    assert (found == found.astype(np.int64)).all()
    return found.astype(np.int64)


@pytest.mark.parametrize("margin", [0.0, 1.0, 100.0], ids=["often over", "mostly Poisson", "single draws"])
def test_all_counts_are_distributed_as_a_multinomial(monkeypatch: pytest.MonkeyPatch, margin: float) -> None:
    monkeypatch.setattr(resample, "MARGIN", margin)
    weights, size = [1, 1, 2, 3], 6
    seen = Counter(map(tuple, drawn(weights, [size] * SAMPLES).T.tolist()))
    for way in itertools.product(range(size + 1), repeat=len(weights)):
        if sum(way) != size:
            assert way not in seen
            continue
        chance = math.factorial(size) * math.prod(
            (weight / sum(weights)) ** times / math.factorial(times)
            for weight, times in zip(weights, way, strict=True)
        )
        error = math.sqrt(chance * (1 - chance) / SAMPLES)
        assert seen[way] / SAMPLES == pytest.approx(chance, abs=4.5 * error + 1 / SAMPLES), way


@pytest.mark.parametrize("more", [0, 60, -60])
def test_each_count_is_binomial(more: int) -> None:
    """Rows of many weights beside one another: as many draws as there are instances, more and fewer."""
    weights = [*range(1, HEAVIEST, 9), HEAVIEST]
    size = sum(weights) + more
    for weight, row in zip(weights, drawn(weights, [size] * SAMPLES), strict=True):
        chance = weight / sum(weights)
        below, seen = 0.0, np.bincount(row, minlength=size + 1).cumsum() / SAMPLES
        for times in range(size + 1):
            below += math.comb(size, times) * chance**times * (1 - chance) ** (size - times)
            error = math.sqrt(max(0.0, below * (1 - below)) / SAMPLES)
            assert seen[times] == pytest.approx(below, abs=4.5 * error + 1 / SAMPLES), (weight, times)


@given(
    st.lists(st.integers(1, HEAVIEST), min_size=1, max_size=30).map(sorted),
    st.lists(st.integers(0, 300), max_size=20),
)
def test_counts_add_up_and_depend_on_the_seed_alone(weights: list[int], sizes: list[int]) -> None:
    found = drawn(weights, sizes)
    assert found.shape == (len(weights), len(sizes)) and found.sum(axis=0).tolist() == sizes
    assert (found >= 0).all() and (found == drawn(weights, sizes)).all()
