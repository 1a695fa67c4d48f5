"""Intervals against scipy's, against the exact binomial, and their dependence on the cell alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.statistics.bootstrap import Bootstrap, percent
from nightjar.statistics.rule import MINIMUM
from nightjar.statistics.statistic import geometric_mean, mean
from tests.nightjar.statistics.known import Known, known

BOOTSTRAP = Bootstrap(seed=42, samples=20_000, confidence=0.9)


@pytest.mark.parametrize("case", known(), ids=lambda case: case.statistic.name)
def test_intervals_as_scipy_gives_them(case: Known) -> None:
    """Ends from 20,000 and from 100,000 resamples: an end's error is about 2.1 standard errors / sqrt(samples)."""
    close = 5 * 2.1 * case.error / math.sqrt(20_000)
    for statistic in (case.statistic, lambda values: case.statistic(values)):
        ends = BOOTSTRAP.interval(case.a, "x", statistic=statistic)
        assert ends == pytest.approx(case.interval, abs=close)
        ends = BOOTSTRAP.interval_of_difference(case.a, case.b, "x", statistic=statistic)
        assert ends == pytest.approx(case.difference, abs=close)


def test_interval_of_a_coin() -> None:
    """The resampled mean of n zeros and ones is binomial; compare with its exact quantiles."""
    n, hits = 60, 18
    values = np.array([1.0] * hits + [0.0] * (n - hits))
    low, high = Bootstrap(1, 20_000, 0.9).interval(values, "coin")
    chance = [math.comb(n, k) * (hits / n) ** k * (1 - hits / n) ** (n - k) for k in range(n + 1)]
    total = np.cumsum(chance)
    exact_low, exact_high = int(np.searchsorted(total, 0.05)), int(np.searchsorted(total, 0.95))
    assert low == pytest.approx(exact_low / n, abs=1.01 / n)
    assert high == pytest.approx(exact_high / n, abs=1.01 / n)


def test_many_distinct_values() -> None:
    values = np.arange(3000) / 3000
    low, high = Bootstrap(1, 2000, 0.95).interval(values, "x")
    error = 1.96 * values.std() / math.sqrt(len(values))
    assert low == pytest.approx(values.mean() - error, abs=0.002)
    assert high == pytest.approx(values.mean() + error, abs=0.002)


def test_an_interval_depends_on_values_seed_and_cell_alone() -> None:
    values = np.random.default_rng(3).random((50, 3))
    ends = BOOTSTRAP.interval(values, "a", "b", statistic=geometric_mean)
    assert ends != BOOTSTRAP.interval(values, "ab", statistic=geometric_mean)
    assert ends != Bootstrap(43, 20_000, 0.9).interval(values, "a", "b", statistic=geometric_mean)
    BOOTSTRAP.interval(values[:, 0], "a", "b")
    assert ends == BOOTSTRAP.interval(values, "a", "b", statistic=geometric_mean)


def test_the_difference_is_paired() -> None:
    values = np.random.default_rng(5).random(200)
    low, high = BOOTSTRAP.interval_of_difference(values + 0.25, values, "x")
    assert (low, high) == pytest.approx((0.25, 0.25))
    other = np.random.default_rng(6).random(200)
    assert BOOTSTRAP.interval_of_difference(values, other, "x") == pytest.approx(
        BOOTSTRAP.interval(values - other, "y"), abs=0.003
    )


def test_a_statistic_has_its_parts() -> None:
    for values in (np.ones((30, 2)), np.ones((30, 2, 2)), np.ones((0, 1))):
        with pytest.raises(ValueError, match="shape"):
            BOOTSTRAP.interval(values, "x")


def test_metrics_of_the_same_instances_share_their_resamples() -> None:
    first = np.random.default_rng(8).random(300).round(2)
    columns = np.stack([first, (first > 0.5).astype(float), first**2, 1 - first], axis=1)
    found = BOOTSTRAP.percent_intervals(columns, "x")
    for column, ends in zip(columns.T, found, strict=True):
        alone = BOOTSTRAP.percent_interval(column, "y")
        assert ends == pytest.approx(alone, abs=0.12 * 100 * column.std() / math.sqrt(300))
    (low, high), (low_turned, high_turned) = found[0], found[3]
    assert (low, high) == pytest.approx((100 - high_turned, 100 - low_turned), abs=1e-3)
    assert BOOTSTRAP.percent_intervals(columns[:19], "x") == [(None, None)] * 4


def test_no_interval_of_few() -> None:
    values = np.linspace(0, 1, MINIMUM)
    assert BOOTSTRAP.percent_interval(values[1:], "x") == (None, None)
    low, high = BOOTSTRAP.interval(values, "x", statistic=mean)
    assert BOOTSTRAP.percent_interval(values, "x") == (round(100 * low, 4), round(100 * high, 4))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=50))
def test_percent(values: list[float]) -> None:
    """One value after another, as the published evaluator sums; `sum` of Python 3.12 and later compensates."""
    total = 0.0
    for value in values:
        total += value
    assert percent(values) == round(100 * total / len(values), 4)
