"""Slow declines, against SciPy's regression and test, and in worlds in which the truth is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nightjar.statistics import Bootstrap, matthews
from nightjar.statistics.metric import Metric
from nightjar.statistics.paired import Contrast
from nightjar.statistics.statistic import Floats
from nightjar.statistics.verdict import Cell, decide
from pipelines.nightly.declines import FEWEST, declined, line

ALPHA = 0.01
SCORE = Metric("rougeL")


def cell(system: str = "model") -> Cell:
    return Cell("made", system, "default", "rougeL")


def found(measure: Metric, *runs: Floats) -> bool:
    return bool(declined({cell(): (measure, runs)}, ALPHA))


def test_the_fall_is_that_of_a_regression_and_its_p_that_of_a_test_of_the_slopes() -> None:
    from scipy import stats

    rng = np.random.default_rng(1)
    runs = [rng.normal(0.5 - 0.004 * night, 0.2, (300, 1)) for night in range(10)]
    row = line(SCORE, runs).described(Bootstrap(samples=20_000))
    nights = np.arange(10)
    slopes = [stats.linregress(nights, [run[n, 0] for run in runs]).slope for n in range(300)]
    assert row["value"] == pytest.approx(100 * 9 * np.mean(slopes), abs=1e-4)
    assert row["p"] == pytest.approx(stats.ttest_1samp(slopes, 0).pvalue, abs=0.01)
    ends = stats.bootstrap((slopes,), np.mean, confidence_level=0.95, method="percentile", rng=rng)
    expected = 900 * np.array(ends.confidence_interval)
    assert (row["low"], row["high"]) == pytest.approx(expected, abs=0.2)


def test_small_steps_make_a_decline_that_no_two_nights_show() -> None:
    """A model that loses three of 200 answers every night, and never finds one again."""
    runs = [np.r_[np.zeros(3 * night), np.ones(200 - 3 * night)][:, None] for night in range(10)]
    for before, now in itertools.pairwise(runs):
        (row,) = decide([Contrast.between(SCORE, now, before)], ALPHA)
        assert row["verdict"] == "unchanged"
    assert found(SCORE, *runs)
    assert not found(SCORE, *runs[: FEWEST - 1]) and not found(SCORE, *runs[::-1])
    assert found(Metric("loss", higher_is_better=False), *runs[::-1])
    # Once the model is repaired, the past decline is none of the present model.
    assert not found(SCORE, *runs, runs[0])


def test_equal_nights_and_one_small_step_are_no_decline() -> None:
    rng = np.random.default_rng(2)
    run = rng.random((100, 1))
    fewer = run.copy()
    fewer[:2] = 0
    assert decide([line(SCORE, [run] * 7)], ALPHA)[0]["p"] == 1
    assert not found(SCORE, *[run] * 7)
    assert not found(SCORE, *[run] * 5, *[fewer] * 5)


def test_a_statistic_that_is_no_mean_is_computed_of_every_night() -> None:
    from scipy import stats

    rng = np.random.default_rng(4)
    gold = rng.integers(0, 2, 300).astype(float)
    order = rng.permutation(300)
    runs = []
    for night in range(8):
        guess = gold.copy()
        wrong = order[: 20 + 5 * night]
        guess[wrong] = 1 - guess[wrong]
        runs.append(np.stack([guess, gold], axis=1))
    measure = Metric("mcc", "", ("guess", "gold"), matthews)
    (row,) = decide([line(measure, runs)], ALPHA)
    values = [np.corrcoef(run.T)[0, 1] for run in runs]
    assert row["value"] == pytest.approx(100 * 7 * stats.linregress(np.arange(8), values).slope, abs=1e-4)
    assert row["verdict"] == "worse" and found(measure, *runs)


def test_cells_of_a_family_are_corrected_together() -> None:
    runs = [np.r_[np.zeros(night), np.ones(200 - night)][:, None] for night in range(9)]
    alone = declined({cell(): (SCORE, runs)}, ALPHA)
    series = {cell(f"s{n}"): (SCORE, [runs[0]] * 9) for n in range(20)} | {cell(): (SCORE, runs)}
    assert alone and not declined(series, ALPHA)
