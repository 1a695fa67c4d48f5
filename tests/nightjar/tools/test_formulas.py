"""The filter, the weights and the choice of positions against vectors computed from the paper's formulas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.tools.filter import UNNORMALISED, WEIGHTS, Losses, positions, weighted_loss


@pytest.fixture(scope="module")
def vectors(golden: Path) -> dict:
    return json.loads((golden / "toolformer_formulas.json").read_text())


def test_weights(vectors: dict) -> None:
    known = len(UNNORMALISED)
    assert list(UNNORMALISED) == pytest.approx(vectors["unnormalised_weights"][:known], abs=1e-12)
    assert list(WEIGHTS) == pytest.approx(vectors["normalised_weights"][:known], abs=1e-12)
    # Behind the fifth every weight is zero: to leave them out is exact.
    assert not any(vectors["unnormalised_weights"][known:])


def test_filter(vectors: dict) -> None:
    assert vectors["filter_cases"]
    for case in vectors["filter_cases"]:
        losses = Losses(
            weighted_loss(case["logp_no_call"]),
            weighted_loss(case["logp_call_without_result"]),
            weighted_loss(case["logp_call_with_result"]),
        )
        assert losses.no_call == pytest.approx(case["loss_no_call"], abs=1e-9)
        assert losses.without_result == pytest.approx(case["loss_call_without_result"], abs=1e-9)
        assert losses.with_result == pytest.approx(case["loss_plus"], abs=1e-9)
        assert losses.gain == pytest.approx(case["gain"], abs=1e-9)
        for threshold in (0.5, 1.0, 2.0):
            assert losses.reaches(threshold) == case[f"keep_tau_{threshold}"]


def test_positions(vectors: dict) -> None:
    assert vectors["position_cases"]
    for case in vectors["position_cases"]:
        assert positions(case["p_api"], 0.05, 5) == case["tau_0.05_k5"]
        assert positions(case["p_api"], 0.0, 20) == case["tau_0.0_k20"]


def test_the_formulas_by_hand() -> None:
    """max(0, 1 - 0.2 t) is 1, 0.8, 0.6, 0.4, 0.2; their sum is 3."""
    assert list(WEIGHTS) == pytest.approx([5 / 15, 4 / 15, 3 / 15, 2 / 15, 1 / 15], abs=1e-15)
    assert weighted_loss([-15.0, -30.0, 0.0, -7.5, -15.0, -99.0]) == pytest.approx(5 + 8 + 0 + 1 + 1)
    losses = Losses(no_call=3.0, without_result=2.5, with_result=1.75)
    assert losses.gain == 0.75 and losses.reaches(0.75) and not losses.reaches(1.0)


def test_a_gain_equal_to_the_threshold_is_kept_and_a_probability_equal_to_it_is_not() -> None:
    assert Losses(2.0, 1.5, 1.0).reaches(0.5)
    assert not Losses(2.0, 1.5, 1.0).reaches(0.5000001)
    assert positions([0.05, 0.2], 0.05, 5) == [1]


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0, 1), st.integers(1, 10))
def test_positions_are_the_likeliest_above_the_threshold(
    probabilities: list[float], threshold: float, most: int
) -> None:
    chosen = positions(probabilities, threshold, most)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(most, sum(value > threshold for value in probabilities))
    left = [value for place, value in enumerate(probabilities) if place not in chosen and value > threshold]
    assert all(probabilities[place] > threshold for place in chosen)
    assert not chosen or not left or min(probabilities[place] for place in chosen) >= max(left)


def test_a_loss_near_the_end_is_not_normalised_again() -> None:
    assert weighted_loss([-3.0]) == pytest.approx(1.0)
    assert weighted_loss([]) == 0.0
