"""Intervals against scipy's, and those of proportions against its exact binomial ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.statistics.bootstrap import Bootstrap, percent
from nightjar.statistics.statistic import MINIMUM, geometric_mean, mean
from tests.nightjar.statistics.known import Known, known

BOOTSTRAP = Bootstrap(seed=42, samples=20_000, confidence=0.9)


@pytest.mark.parametrize("case", known(), ids=lambda case: case.statistic.name)
def test_intervals_as_scipy_gives_them(case: Known) -> None:
    """Ends from 20,000 and from 100,000 resamples: an end's error is about 2.1 standard errors / sqrt(samples)."""
    close = 5 * 2.1 * case.error / math.sqrt(20_000)
    assert BOOTSTRAP.interval(case.a, case.statistic) == pytest.approx(case.interval, abs=close)
    ends = BOOTSTRAP.interval_of_difference(case.a, case.b, case.statistic)
    assert ends == pytest.approx(case.difference, abs=close)


@pytest.mark.parametrize(("hits", "n"), [(0, 25), (25, 25), (1, 25), (18, 60), (60_000, 120_000)])
def test_a_proportion_has_the_exact_binomial_interval(hits: int, n: int) -> None:
    from scipy.stats import binomtest

    values = np.array([1.0] * hits + [0.0] * (n - hits))
    found = Bootstrap(1, 100, 0.9).interval(values)
    expected = binomtest(hits, n).proportion_ci(0.9, "exact")
    assert found == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert 0 <= found[0] <= hits / n <= found[1] <= 1 and found[0] < found[1]


def test_a_difference_is_no_proportion() -> None:
    """The differences are all 0 or 1 here; their interval is a bootstrap, as of any other difference."""
    ours, theirs = np.ones(60), np.array([1.0] * 42 + [0.0] * 18)
    low, high = BOOTSTRAP.interval_of_difference(ours, theirs)
    chance = [math.comb(60, k) * 0.3**k * 0.7 ** (60 - k) for k in range(61)]
    total = np.cumsum(chance)
    assert low == pytest.approx(int(np.searchsorted(total, 0.05)) / 60, abs=1.01 / 60)
    assert high == pytest.approx(int(np.searchsorted(total, 0.95)) / 60, abs=1.01 / 60)
    assert BOOTSTRAP.interval_of_difference(ours, ours) == (0, 0)


def test_an_interval_depends_on_values_and_seed_alone() -> None:
    values = np.random.default_rng(3).random((50, 3))
    ends = BOOTSTRAP.interval(values, geometric_mean)
    assert ends != Bootstrap(43, 20_000, 0.9).interval(values, geometric_mean)
    BOOTSTRAP.interval(values[:, 0])
    assert ends == pytest.approx(BOOTSTRAP.interval(values[::-1], geometric_mean), abs=1e-12)


def test_the_difference_is_paired() -> None:
    values = np.random.default_rng(5).random(200)
    low, high = BOOTSTRAP.interval_of_difference(values + 0.25, values)
    assert (low, high) == pytest.approx((0.25, 0.25))
    other = np.random.default_rng(6).random(200)
    assert BOOTSTRAP.interval_of_difference(values, other) == pytest.approx(
        BOOTSTRAP.interval(values - other), abs=0.003
    )


def test_a_statistic_has_its_parts() -> None:
    for values in (np.ones((30, 2)), np.ones((30, 2, 2)), np.ones((0, 1))):
        with pytest.raises(NightjarError, match="shape"):
            BOOTSTRAP.interval(values)


def test_no_interval_of_few() -> None:
    values = np.linspace(0, 1, MINIMUM)
    assert BOOTSTRAP.percent_interval(values[1:]) == (None, None)
    low, high = BOOTSTRAP.interval(values, mean)
    assert BOOTSTRAP.percent_interval(values) == (round(100 * low, 4), round(100 * high, 4))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=50))
def test_percent(values: list[float]) -> None:
    """One value after another, as the published evaluator sums; `sum` of Python 3.12 and later compensates."""
    total = 0.0
    for value in values:
        total += value
    assert percent(values) == round(100 * total / len(values), 4)
