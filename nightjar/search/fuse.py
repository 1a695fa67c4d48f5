"""Rankings, and reciprocal rank fusion of several into one (Cormack et al., SIGIR 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from nightjar.core.errors import NightjarError

K = 60
# (passage number, score)
Hit = tuple[int, float]


class Rankings(NamedTuple):
    """What a search finds for each query, best first.

    `ids`: passage numbers, int64, shape (queries, k). `scores`: shape (queries, k). Equal scores are in a set order,
    which the index names. Where a query has fewer than k results, the rest of its row is id -1 with score -inf.
    """

    ids: NDArray[np.int64]
    scores: NDArray[Any]

    @classmethod
    def empty(cls, queries: int, k: int, dtype: DTypeLike = np.float64) -> Rankings:
        """Rows without results, to be filled."""
        return cls(np.full((queries, k), -1, np.int64), np.full((queries, k), -np.inf, dtype))

    def lists(self) -> list[list[Hit]]:
        """For each query a list of (passage number, score), without the empty rest."""
        rows = zip(self.ids.tolist(), self.scores.tolist(), strict=True)
        return [[hit for hit in zip(*row, strict=True) if hit[0] >= 0] for row in rows]


def reciprocal_rank(rankings: Sequence[Rankings], k: int = K) -> Rankings:
    """One ranking for each query: score = sum over `rankings` of 1 / (k + rank), ranks from 1, in float64.

    All of `rankings` are for the same queries. Their scores do not enter, so they need not be comparable; what is
    missing from one adds nothing. The result has room for everything that was ranked; equal scores are in the order
    of the numbers. Raises NightjarError if they are for different numbers of queries.
    """
    if not rankings:
        return Rankings.empty(0, 0)
    if len(sizes := {len(ranking.ids) for ranking in rankings}) > 1:
        what = f"rankings for {' and '.join(map(str, sorted(sizes)))} queries"
        raise NightjarError(what, "reciprocal_rank", "fuse rankings for the same queries")
    ids = np.concatenate([ranking.ids for ranking in rankings], axis=1)
    gains = np.concatenate([1 / (k + 1 + np.arange(ranking.ids.shape[1])) for ranking in rankings])
    rows, columns = np.nonzero(ids >= 0)
    # One key for each passage of each query. Its gains are added in the order of `rankings`.
    span = int(ids.max(initial=0)) + 1
    keys, places = np.unique(rows * span + ids[rows, columns], return_inverse=True)
    scores = np.bincount(places, gains[columns], len(keys))
    rows, numbers = np.divmod(keys, span)
    order = np.lexsort((numbers, -scores, rows))
    counts = np.bincount(rows, minlength=len(ids))
    columns = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
    fused = Rankings.empty(len(ids), int(counts.max(initial=0)))
    fused.ids[rows, columns] = numbers[order]
    fused.scores[rows, columns] = scores[order]
    return fused
