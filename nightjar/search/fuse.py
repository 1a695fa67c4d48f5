"""Rankings, and reciprocal rank fusion of several into one (Cormack et al., SIGIR 2009)."""

from __future__ import annotations

from collections.abc import Sequence

# (passage number, score), best first. Equal scores are in the order of the numbers.
Ranking = list[tuple[int, float]]

K = 60


def reciprocal_rank(rankings: Sequence[Ranking], k: int = K) -> Ranking:
    """One ranking of everything in `rankings`: score = sum over rankings of 1 / (k + rank), ranks from 1.

    Scores of the single rankings do not enter, so they need not be comparable; what is missing from one
    adds nothing.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, (number, _) in enumerate(ranking, start=1):
            scores[number] = scores.get(number, 0.0) + 1 / (k + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
