"""The paired test against every way to flip the signs, one by one, and against how often it is wrong."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.statistics import paired
from nightjar.statistics.bootstrap import Bootstrap
from nightjar.statistics.paired import contrast_p, permutation_p
from nightjar.statistics.statistic import Floats, Statistic, geometric_mean, matthews, mean, perplexity
from tests.nightjar.statistics.known import Known, known

QUARTERS = st.integers(-4, 4).map(lambda number: number / 4)


def brute_force(differences: list[float]) -> float:
    """The definition, in plain Python: the sums are of quarters, so they are exact."""
    observed = abs(sum(differences))
    ways = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True))) >= observed
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(ways) / len(ways)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@given(
    st.lists(QUARTERS, min_size=1, max_size=9)
    | st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=11)
)
def test_exact_on_few(differences: list[float]) -> None:
    assert paired.p_value(np.array(differences), rng()) == pytest.approx(brute_force(differences))


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
    # None of the first samples is as extreme: ten times as many are drawn.
    assert paired.p_value(np.linspace(0.1, 1, 200), rng()) == 1 / (1 + 10 * paired.SAMPLES)


def test_changes() -> None:
    assert paired.changes(np.array([0.5, -0.1, 0.0, 0.0, 1.0])) == paired.Changes(2, 1, 2)


def by_enumeration(statistic: Statistic, a: Floats, b: Floats) -> float:
    """The definition: every way to swap, one by one."""
    differences = []
    for way in itertools.product((False, True), repeat=len(a)):
        chosen = np.array(way)[:, None]
        one, other = np.where(chosen, b, a), np.where(chosen, a, b)
        differences.append(abs(float((statistic(one[None]) - statistic(other[None]))[0])))
    return sum(difference >= differences[0] - 1e-9 for difference in differences) / len(differences)


LABELS = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2))
PARTS = st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0])] * 4)


@given(st.lists(LABELS, min_size=1, max_size=8))
def test_permutation_of_labels(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, dtype=float)
    a, b = table[:, [0, 2]], table[:, [1, 2]]
    assert permutation_p(matthews, a, b, rng()) == pytest.approx(by_enumeration(matthews, a, b))


@given(st.lists(PARTS, min_size=1, max_size=8))
def test_permutation_of_parts(rows: list[tuple[float, ...]]) -> None:
    a, b = np.split(np.array(rows), 2, axis=1)
    expected = by_enumeration(geometric_mean, a, b)
    assert permutation_p(geometric_mean, a, b, rng()) == pytest.approx(expected)
    assert permutation_p(geometric_mean, b, a, rng()) == pytest.approx(expected), "two-sided"


@pytest.mark.parametrize("case", known(12), ids=lambda case: case.statistic.name)
def test_exact_p_as_scipy_gives_it(case: Known) -> None:
    assert permutation_p(case.statistic, case.a, case.b, rng()) == pytest.approx(case.p)


def test_permutation_sampled_as_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in known(12) if case.statistic is matthews)
    monkeypatch.setattr(paired, "_ENUMERATED", 0)
    sampled = permutation_p(matthews, case.a, case.b, rng(), samples=20_000)
    assert sampled == pytest.approx(case.p, abs=4 * math.sqrt(case.p * (1 - case.p) / 20_000))


def test_ends_of_permutation() -> None:
    losses = np.column_stack([np.linspace(1, 9, 60), np.full(60, 5)])
    assert permutation_p(perplexity, losses, losses, rng()) == 1.0
    assert permutation_p(perplexity, losses, losses + np.array([3.0, 0.0]), rng(), samples=999) == 1 / 9991


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    for values in ([bad, 1.0, 0.5], [bad, *np.linspace(0, 1, 40)]):
        given = np.array(values)
        for refused in (
            lambda given=given: paired.p_value(given, rng()),
            lambda given=given: permutation_p(mean, given, np.ones(len(given)), rng()),
            lambda given=given: Bootstrap().interval(given),
            lambda given=given: Bootstrap().interval_of_difference(np.ones(len(given)), given),
        ):
            with pytest.raises(NightjarError, match=f"1 of {len(given)} are NaN or infinite"):
                refused()


@pytest.mark.parametrize("statistic", [mean, geometric_mean])
def test_neither_the_order_of_instances_nor_that_of_systems_changes_p_or_interval(
    statistic: Statistic,
) -> None:
    parts = 2 if statistic is geometric_mean else 1
    source = np.random.default_rng(4)
    a, b = source.random((60, parts)), source.random((60, parts))
    order = source.permutation(60)
    found = [
        (
            permutation_p(statistic, one, other, rng()),
            *Bootstrap().interval_of_difference(one, other, statistic),
        )
        for one, other in ((a, b), (a[order], b[order]), (b, a))
    ]
    assert found[1] == pytest.approx(found[0], abs=1e-12)
    p, low, high = found[2]
    assert (p, -high, -low) == pytest.approx(found[0], abs=1e-12)


def reversed_one_by_one(runs: list[Floats], weights: Floats, statistic: Statistic, samples: int) -> float:
    """The definition for several runs: in each way the runs of about half of the instances are in reverse."""
    source = np.random.default_rng(9)
    stacked = np.stack(runs)  # runs, instances, parts
    seen = abs(weights @ [float(statistic(run[None])[0]) for run in runs])
    extreme = 0
    for _ in range(samples):
        turned = source.random(stacked.shape[1]) < 0.5
        mixed = np.where(turned[:, None], stacked[::-1], stacked)
        extreme += abs(weights @ [float(statistic(run[None])[0]) for run in mixed]) >= seen - 1e-9
    return extreme / samples


@pytest.mark.parametrize("statistic", [mean, geometric_mean])
def test_several_runs_are_reversed_within_each_instance(statistic: Statistic) -> None:
    source = np.random.default_rng(3)
    base = source.random((50, 1 if statistic is mean else 2))
    noise = [source.normal(0, 0.2, base.shape) for _ in range(6)]
    runs = [np.clip(base + one - 0.008 * night, 0, 2) for night, one in enumerate(noise)]
    weights = np.arange(6) - 2.5
    p = contrast_p(statistic, runs, weights.tolist(), rng(), 4000)
    assert 0.01 < p < 0.6
    assert p == pytest.approx(
        reversed_one_by_one(runs, weights, statistic, 3000), abs=4 * math.sqrt(p / 2000)
    )


def test_a_change_that_stays_counts_once_for_each_instance() -> None:
    """Two instances of 40 are lost after the fifth of ten runs, then nothing changes: the sign test of two."""
    runs = [np.r_[np.full(2, float(night < 5)), np.ones(38)] for night in range(10)]
    assert contrast_p(mean, runs, (np.arange(10) - 4.5).tolist(), rng()) == 0.5
    assert paired.p_value(runs[-1] - runs[0], rng()) == 0.5


def test_equal_runs_are_called_a_trend_as_often_as_promised() -> None:
    source, weights = np.random.default_rng(12), [-1.5, -0.5, 0.5, 1.5]
    below = 0
    for _ in range(400):
        runs = [source.choice([0.0, 0.0, 0.3, 1.0], (25, 1)) for _ in range(4)]
        below += contrast_p(mean, runs, weights, source, 200) <= 0.1
    assert 18 < below < 64  # binomial(400, 0.1), four standard deviations
