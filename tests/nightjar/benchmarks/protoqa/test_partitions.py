"""The search over partitions against all pairs of partitions, listed one by one and matched by scipy."""

from __future__ import annotations

import random
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from nightjar.benchmarks.protoqa.partitions import Edge, TooManyStates, best_score

Spans = list[tuple[tuple[int, int], tuple[int, int]]]


def listed(n: int) -> list[list[tuple[int, int]]]:
    """All partitions of n tokens into contiguous groups."""
    cuts = [cut for size in range(n) for cut in combinations(range(1, n), size)]
    return [list(zip((0, *cut), (*cut, n), strict=True)) for cut in cuts]


def published(n: int, m: int, spans: Spans) -> float:
    """The maximum over all pairs of partitions."""
    best = 0.0
    for one, other in product(listed(n), listed(m)):
        matrix = np.array([[float((g, h) in spans) for h in other] for g in one])
        rows, columns = linear_sum_assignment(-matrix)
        best = max(best, matrix[rows, columns].sum() / max(matrix.shape))
    return best


def edges(spans: Spans) -> list[Edge]:
    return [Edge(i, j, (1 << b) - (1 << a)) for (i, j), (a, b) in spans]


@st.composite
def matching(draw: st.DrawFn) -> tuple[int, int, Spans]:
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    pairs = list(product(combinations(range(n + 1), 2), combinations(range(m + 1), 2)))
    return n, m, draw(st.lists(st.sampled_from(pairs), max_size=12, unique=True))


@given(matching())
def test_equals_the_maximum_over_all_partitions(case: tuple[int, int, Spans]) -> None:
    n, m, spans = case
    assert best_score(n, m, edges(spans)) == pytest.approx(published(n, m, spans), abs=1e-12)


def equal_tokens(x: str, y: str) -> list[Edge]:
    pairs = product(enumerate(x), enumerate(y))
    return [Edge(i, i + 1, 1 << a) for (i, one), (a, other) in pairs if one == other]


def test_twenty_tokens_in_another_order() -> None:
    x = "bcdefghjklnpqruvwxyz"
    assert best_score(20, 20, equal_tokens(x, x[::-1])) == 1.0
    assert best_score(20, 20, equal_tokens(x, x[10:] + x[1:10] + "a")) == 19 / 20, "one differs"


def test_joining_what_has_no_partner_may_be_better_than_matching_more() -> None:
    # a b c | u X v against c b a | p X q: three matches and one gap, not four matches and two gaps.
    assert best_score(6, 6, equal_tokens("abcuXv", "cbapXq")) == 3 / 4


@pytest.mark.parametrize("letters", ["bc", "bcfgh"])
def test_long_lists_of_few_letters_end(letters: str) -> None:
    source = random.Random(3)
    x, y = ("".join(source.choice(letters) for _ in range(20)) for _ in range(2))
    try:
        score = best_score(20, 20, equal_tokens(x, y))
    except TooManyStates as error:
        score = error.best
    assert 0.5 < score <= 1.0


def test_too_many_states_are_reported_with_the_best_score_found() -> None:
    with pytest.raises(TooManyStates) as raised:
        best_score(6, 6, equal_tokens("abcuXv", "cbapXq"), state_limit=0)
    assert raised.value.best == 3 / 4
