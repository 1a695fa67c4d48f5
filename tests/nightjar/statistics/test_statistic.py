"""Statistics against their definitions in plain Python, and the one rule for what is significant."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from nightjar.statistics.statistic import (
    MINIMUM,
    enough,
    geometric_mean,
    matthews,
    mean,
    perplexity,
    significant,
    too_few,
)

LABELS = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=12)
FRACTIONS = st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=12)


def matthews_by_pairs(rows: list[tuple[int, int]]) -> float:
    """R_K as the correlation of one-hot labels, summed over labels (Gorodkin 2004, equations 2 and 3)."""
    labels = sorted({label for row in rows for label in row})

    def covariance(one: int, other: int) -> float:
        total = 0.0
        for label in labels:
            ones = [float(row[one] == label) for row in rows]
            others = [float(row[other] == label) for row in rows]
            mean_one, mean_other = sum(ones) / len(rows), sum(others) / len(rows)
            total += sum((a - mean_one) * (b - mean_other) for a, b in zip(ones, others, strict=True))
        return total

    spread = covariance(0, 0) * covariance(1, 1)
    return covariance(0, 1) / math.sqrt(spread) if spread > 1e-9 else 0.0


@given(LABELS)
def test_matthews(rows: list[tuple[int, int]]) -> None:
    found = matthews(np.array([rows, rows[::-1]], dtype=float))
    assert found == pytest.approx([matthews_by_pairs(rows)] * 2, abs=1e-9)


@given(FRACTIONS)
def test_geometric_mean_is_of_the_corpus(rows: list[tuple[float, ...]]) -> None:
    means = [sum(row[part] for row in rows) / len(rows) for part in range(3)]
    expected = (means[0] * means[1] * means[2]) ** (1 / 3)
    assert geometric_mean(np.array([rows]))[0] == pytest.approx(expected, abs=1e-9)


def test_the_example_of_scrolls() -> None:
    """The example of the public metric: three texts; of each the mean would be 33.3."""
    rows = [[1.0, 1.0, 1.0], [2 / 3, 0.0, 2 / 3], [0.5, 0.0, 0.5]]
    assert 100 * geometric_mean(np.array([rows]))[0] == pytest.approx(55.8136, abs=5e-5)


@given(st.lists(st.tuples(st.floats(0, 500), st.integers(1, 99)), min_size=1, max_size=12))
def test_perplexity(rows: list[tuple[float, int]]) -> None:
    loss, tokens = sum(row[0] for row in rows), sum(row[1] for row in rows)
    assert perplexity(np.array([rows]))[0] == pytest.approx(math.exp(loss / tokens))


def test_draws_are_independent() -> None:
    draws = np.random.default_rng(1).random((5, 4, 1))
    assert mean(draws) == pytest.approx([sum(draw.ravel().tolist()) / 4 for draw in draws])


def test_wrong_arrays() -> None:
    for statistic, shape in ((mean, (2, 3)), (mean, (2, 3, 2)), (mean, (2, 0, 1)), (matthews, (2, 3, 1))):
        with pytest.raises(NightjarError, match=f"{statistic.name}: an array of shape"):
            statistic(np.ones(shape))
    with pytest.raises(NightjarError, match="without tokens"):
        perplexity(np.array([[[1.0, 3.0], [0.0, 0.0]]]))


@pytest.mark.parametrize(
    ("p", "n", "confidence", "expected"),
    [
        (0.05, 20, 0.95, True),
        (0.1, 20, 0.9, True),
        (0.0501, 20_000, 0.95, False),
        (0.0001, 19, 0.95, False),
        (None, 19, 0.95, False),
    ],
)
def test_significant(p: float | None, n: int, confidence: float, expected: bool) -> None:
    assert significant(p, n, confidence) is expected


def test_few() -> None:
    assert not enough(MINIMUM - 1) and enough(MINIMUM)
    assert too_few(8) == too_few(MINIMUM - 1) == "n<20"
