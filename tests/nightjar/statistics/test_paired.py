"""The paired test against every way to flip the signs, one by one, and against how often it is wrong."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.statistics import paired

QUARTERS = st.integers(-4, 4).map(lambda number: number / 4)


def brute_force(differences: list[float]) -> float:
    """The definition, in plain Python: the sums are of quarters, so they are exact."""
    seen = abs(sum(differences))
    ways = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True))) >= seen
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(ways) / len(ways)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@given(st.lists(QUARTERS, min_size=1, max_size=9))
def test_exact_on_few(differences: list[float]) -> None:
    assert paired.p_value(np.array(differences), rng()) == pytest.approx(brute_force(differences))


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=11))
def test_sign_test(differences: list[float]) -> None:
    assert paired.p_value(np.array(differences), rng()) == pytest.approx(brute_force(differences))


def test_sampled_as_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.array([0.1, 0.4, -0.2, 0.9, 0.3, -0.5, 0.25, 0.6, -0.05, 0.7, 0.15, -0.35])
    exact = paired.p_value(differences, rng())
    monkeypatch.setattr(paired, "_ENUMERATED", 0)
    monkeypatch.setattr(paired, "_BYTES", 100)  # several rounds
    sampled = paired.p_value(differences, rng(), samples=40_000)
    assert 0.01 < exact < 0.5
    assert sampled == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 40_000))


def test_a_true_null_is_called_different_as_often_as_promised() -> None:
    source = np.random.default_rng(8)
    below = sum(
        paired.p_value(
            source.choice([-1.0, -0.5, 0.0, 0.2, 1.0, 0.3], 40) * source.choice([-1, 1], 40), source, 400
        )
        <= 0.1
        for _ in range(400)
    )
    assert 18 < below < 64  # binomial(400, 0.1), four standard deviations


def test_ends() -> None:
    assert paired.p_value(np.zeros(5), rng()) == 1.0
    assert paired.p_value(np.ones(3000), rng()) == pytest.approx(0.0, abs=1e-300)
    assert paired.p_value(np.linspace(0.1, 1, 200), rng()) == 1 / (1 + paired.SAMPLES)


def test_moved() -> None:
    assert paired.moved(np.array([0.5, -0.1, 0.0, 0.0, 1.0])) == paired.Moved(2, 1, 2)
