"""The number of one system, against sums of exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from nightjar.statistics import Metric, estimate, geometric_mean
from nightjar.statistics.metric import scaled


@pytest.mark.parametrize(("scale", "decimals"), [(100.0, 4), (1.0, 6), (100.0, 0)])
def test_a_mean_is_the_sum_of_the_unscaled_numbers_times_the_scale(scale: float, decimals: int) -> None:
    values = np.random.default_rng(5).integers(0, 8, size=(37, 1)) / 8
    exact = sum(Fraction(value) for value in values[:, 0]) * Fraction(scale) / len(values)
    metric = Metric("m", scale=scale, decimals=decimals)
    assert estimate(metric, values) == pytest.approx(float(exact), abs=0.51 * 10**-decimals)
    assert estimate(metric, values) == round(estimate(metric, values), decimals)


def test_a_sum_of_negative_zeros_is_zero() -> None:
    assert math.copysign(1, estimate(Metric("m"), np.array([[-0.0], [-0.0]]))) == 1
    assert math.copysign(1, scaled(Metric("m"), -1e-9)) == 1


def test_another_statistic_has_its_parts_and_scale() -> None:
    metric = Metric("m", parts=("a", "b"), statistic=geometric_mean)
    values = np.array([[0.25, 1.0], [0.75, 0.0]])
    assert estimate(metric, values) == 50.0  # the root of 0.5 x 0.5
