"""Reciprocal rank fusion: its formula by exact fractions, and what any fusion must satisfy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nightjar.search.rankings import Hit, Rankings, reciprocal_rank

RANKING = st.lists(st.integers(0, 9), unique=True, max_size=6).map(
    lambda ids: [(id, 1.0 - place) for place, id in enumerate(ids)]
)
# Up to four rankings for each of three queries.
RANKINGS = st.lists(st.tuples(RANKING, RANKING, RANKING), max_size=4)


def arrays(rows: tuple[list[Hit], ...] | list[list[Hit]]) -> Rankings:
    made = Rankings.empty(len(rows), max(map(len, rows), default=0))
    for row, hits in enumerate(rows):
        for column, (id, score) in enumerate(hits):
            made.ids[row, column], made.scores[row, column] = id, score
    assert made.lists() == list(rows)
    return made


def fuse(rankings: list[tuple[list[Hit], ...]], k: int = 60) -> list[list[Hit]]:
    return reciprocal_rank([arrays(ranking) for ranking in rankings], k).lists()


def test_by_hand() -> None:
    fused = reciprocal_rank([arrays([[(7, 9.0), (3, 8.0)], []]), arrays([[(3, 0.9), (5, 0.8)], []])])
    assert fused.lists() == [[(3, 1 / 62 + 1 / 61), (7, 1 / 61), (5, 1 / 62)], []]
    assert fused.ids.tolist() == [[3, 7, 5], [-1, -1, -1]]
    assert (fused.ids.dtype, fused.scores.dtype) == (np.int64, np.float64)


@given(RANKINGS, st.integers(0, 100))
def test_formula(rankings: list[tuple[list[Hit], ...]], k: int) -> None:
    for query, fused in enumerate(fuse(rankings, k)):
        exact: dict[int, Fraction] = {}
        for ranking in rankings:
            for rank, (number, _) in enumerate(ranking[query]):
                exact[number] = exact.get(number, Fraction(0)) + Fraction(1, k + rank + 1)
        assert {number for number, _ in fused} == set(exact)
        assert all(abs(score - exact[number]) < 1e-12 for number, score in fused)
        assert fused == sorted(fused, key=lambda hit: (-hit[1], hit[0]))
