"""Resamples against the exact distribution over all n**n resamples, on every path of the code."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.statistics import resample
from nightjar.statistics.resample import as_rows, blocks, resampled, sums
from nightjar.statistics.statistic import Floats, geometric_mean, mean

SAMPLES = 20_000
ROWS = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 3)), min_size=1, max_size=30)
VALUES = np.array([0.0, 1.0, 1.0, 4.0, 20.0])


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def plain_mean(values: Floats) -> Floats:
    """Not known as a function of sums, so instances are drawn one by one."""
    found: Floats = values[:, :, 0].mean(axis=1)
    return found


@pytest.fixture(params=[1, 2, 100], ids=["all by binomials", "some by binomials", "none by binomials"])
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks, and Poisson numbers also where instances are few."""
    monkeypatch.setattr(resample, "MARGIN", 0.5)
    monkeypatch.setattr(resample, "FREQUENT", request.param)
    monkeypatch.setattr(resample, "BLOCK", 1000)


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


def test_sums_are_distributed_as_enumerated(small_blocks: None) -> None:
    check_distribution(sums(VALUES[:, None], SAMPLES, rng())[:, 0])


def test_any_callable_is_resampled_as_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resample, "BLOCK", 1000)
    found = resampled(plain_mean, [VALUES], SAMPLES, rng())[0]
    check_distribution(np.round(found * len(VALUES), 6))


@given(ROWS, st.integers(1, 20))
def test_columns_and_systems_share_their_resamples(rows: list[tuple[float, int]], frequent: int) -> None:
    values = np.array(rows)
    joined = np.column_stack([values, np.ones(len(values)), 2 * values[:, 0]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resample, "FREQUENT", frequent)
        found = sums(joined, 20, rng())
        both = resampled(mean, [values[:, 0], 3 - values[:, 0]], 20, rng())
    assert (found[:, 2] == len(values)).all(), "as many rows as there are"
    assert (found[:, 1] % 1 == 0).all() and (found[:, 3] == 2 * found[:, 0]).all()
    assert (found.min(axis=0) >= joined.min(axis=0) * len(values)).all()
    assert (found.max(axis=0) <= joined.max(axis=0) * len(values)).all()
    assert both[0] + both[1] == pytest.approx(3)


@given(ROWS, st.sampled_from([1, 50, 2**62]))
def test_distinct_rows(rows: list[tuple[float, int]], largest: int) -> None:
    values = np.array(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resample, "LARGEST_CODE", largest)
        distinct, counts = resample.distinct(np.column_stack([values, values[:, ::-1]]))
    found = {(a, b): n for (a, b, _, _), n in zip(distinct.tolist(), counts.tolist(), strict=True)}
    assert found == Counter(rows) and (distinct[:, :2] == distinct[:, :1:-1]).all()


def test_many_draws_of_one_value_and_of_none() -> None:
    assert (sums(np.full((1000, 1), 0.25), 50, rng()) == 250).all()
    for values in (np.zeros(0), np.zeros((3, 0)), np.zeros((2, 2, 2))):
        with pytest.raises(NightjarError, match="no instances"):
            resampled(mean, [values], 10, rng())


def test_the_two_paths_agree() -> None:
    """A statistic of sums, and the same as any callable: equal distributions, other draws."""
    values = rng().random((40, 3))
    ours, plain = (
        resampled(statistic, [values], SAMPLES, rng())[0]
        for statistic in (geometric_mean, lambda drawn: geometric_mean(drawn))
    )
    error = ours.std() / math.sqrt(SAMPLES)
    assert ours.mean() == pytest.approx(plain.mean(), abs=6 * error)
    assert np.quantile(ours, [0.05, 0.95]) == pytest.approx(np.quantile(plain, [0.05, 0.95]), abs=12 * error)


@given(st.integers(0, 100), st.integers(1, 3 * resample.BLOCK))
def test_blocks(count: int, size: int) -> None:
    spans = blocks(count, size)
    assert [place for start, stop in spans for place in range(start, stop)] == list(range(count))
    assert all((stop - start) * size <= max(resample.BLOCK, size) for start, stop in spans)


def test_rows() -> None:
    assert as_rows(np.array([1, 2])).shape == (2, 1)
    assert as_rows(np.ones((2, 3))).dtype == np.float64
