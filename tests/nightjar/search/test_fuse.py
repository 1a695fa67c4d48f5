"""Reciprocal rank fusion: its formula by exact fractions, and what any fusion must satisfy."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from nightjar.search.fuse import Ranking, reciprocal_rank

RANKINGS = st.lists(
    st.lists(st.integers(0, 9), unique=True, max_size=6).map(
        lambda ns: [(n, 1.0 - i) for i, n in enumerate(ns)]
    ),
    max_size=4,
)


def test_by_hand() -> None:
    fused = reciprocal_rank([[(7, 9.0), (3, 8.0)], [(3, 0.9), (5, 0.8)]])
    assert fused == [(3, 1 / 62 + 1 / 61), (7, 1 / 61), (5, 1 / 62)]


@given(RANKINGS, st.integers(0, 100))
def test_formula(rankings: list[Ranking], k: int) -> None:
    exact: dict[int, Fraction] = {}
    for ranking in rankings:
        for rank, (number, _) in enumerate(ranking):
            exact[number] = exact.get(number, Fraction(0)) + Fraction(1, k + rank + 1)
    fused = reciprocal_rank(rankings, k)
    assert {number for number, _ in fused} == set(exact)
    assert all(abs(score - exact[number]) < 1e-12 for number, score in fused)
    assert fused == sorted(fused, key=lambda hit: (-hit[1], hit[0]))


@given(RANKINGS)
def test_single_scores_do_not_matter(rankings: list[Ranking]) -> None:
    scaled = [[(number, 1000 * score - 7) for number, score in ranking] for ranking in rankings]
    assert reciprocal_rank(scaled) == reciprocal_rank(rankings)


@given(st.lists(st.integers(0, 50), unique=True, max_size=20))
def test_one_ranking_keeps_its_order(numbers: list[int]) -> None:
    assert [n for n, _ in reciprocal_rank([[(n, 0.0) for n in numbers]])] == numbers


@given(RANKINGS, st.integers(0, 9))
def test_moving_up_never_hurts(rankings: list[Ranking], number: int) -> None:
    before = dict(reciprocal_rank(rankings)).get(number, 0.0)
    raised = [[(number, 0.0), *(hit for hit in ranking if hit[0] != number)] for ranking in rankings]
    assert dict(reciprocal_rank(raised)).get(number, 0.0) >= before
