"""Resamples against the exact distribution over all n**n resamples, on every path of the code."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError
from nightjar.statistics import resample
from nightjar.statistics.resample import HEAVIEST, Draws, resampled, sums
from nightjar.statistics.statistic import Floats, mean

SAMPLES = 20_000
ROWS = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 3)), min_size=1, max_size=30)
VALUES = np.array([0.0, 1.0, 1.0, 4.0, 20.0])


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def check_distribution(found: Floats) -> None:
    """The share of every possible sum, within four standard deviations."""
    ways = Counter(sum(way) for way in itertools.product(VALUES.tolist(), repeat=len(VALUES)))
    total = len(VALUES) ** len(VALUES)
    seen = Counter(found.tolist())
    assert seen.keys() <= ways.keys()
    for value, count in ways.items():
        chance = count / total
        error = math.sqrt(chance * (1 - chance) / SAMPLES)
        assert seen[value] / SAMPLES == pytest.approx(chance, abs=4.5 * error), value


@pytest.mark.parametrize(
    "frequent", [1, 2, 100], ids=["all by binomials", "some by binomials", "none by binomials"]
)
def test_sums_are_distributed_as_enumerated(frequent: int) -> None:
    """In several blocks, and with Poisson numbers also where instances are few."""
    found = sums(VALUES[:, None], SAMPLES, rng(), frequent=frequent, margin=0.5, block=1000)
    check_distribution(found[:, 0])


@given(ROWS, st.integers(1, 20))
def test_columns_and_systems_share_their_resamples(rows: list[tuple[float, int]], frequent: int) -> None:
    values = np.array(rows)
    joined = np.column_stack([values, np.ones(len(values)), 2 * values[:, 0]])
    found = sums(joined, 20, rng(), frequent=frequent)
    both = resampled(mean, [values[:, 0], 3 - values[:, 0]], 20, rng())
    assert (found[:, 2] == len(values)).all(), "as many rows as there are"
    assert (found[:, 1] % 1 == 0).all() and (found[:, 3] == 2 * found[:, 0]).all()
    assert (found.min(axis=0) >= joined.min(axis=0) * len(values)).all()
    assert (found.max(axis=0) <= joined.max(axis=0) * len(values)).all()
    assert both[0] + both[1] == pytest.approx(3)


@given(ROWS, st.sampled_from([1, 50, 2**62]))
def test_distinct_rows(rows: list[tuple[float, int]], largest: int) -> None:
    values = np.array(rows)
    distinct, counts = resample.distinct(np.column_stack([values, values[:, ::-1]]), largest)
    found = {(a, b): n for (a, b, _, _), n in zip(distinct.tolist(), counts.tolist(), strict=True)}
    assert found == Counter(rows) and (distinct[:, :2] == distinct[:, :1:-1]).all()


def test_many_draws_of_one_value_and_of_none() -> None:
    assert (sums(np.full((1000, 1), 0.25), 50, rng()) == 250).all()
    for values in (np.zeros(0), np.zeros((3, 0)), np.zeros((2, 2, 2))):
        with pytest.raises(NightjarError, match="no instances"):
            resampled(mean, [values], 10, rng())


def drawn(weights: list[int], sizes: list[int], **margin: float) -> NDArray[np.int64]:
    found = Draws(np.array(weights), **margin).counts(np.array(sizes, np.int64), np.random.default_rng(5))
    assert (found == found.astype(np.int64)).all()
    return found.astype(np.int64)


@pytest.mark.parametrize("margin", [0.0, 1.0, 100.0], ids=["often over", "mostly Poisson", "single draws"])
def test_all_counts_are_distributed_as_a_multinomial(margin: float) -> None:
    weights, size = [1, 1, 2, 3], 6
    seen = Counter(map(tuple, drawn(weights, [size] * SAMPLES, margin=margin).T.tolist()))
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
