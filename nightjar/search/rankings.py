"""Rankings: fusion of several into one (Cormack et al., SIGIR 2009), their form on disk, and the passages they name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from nightjar.core.contracts import PASSAGES, RANKINGS
from nightjar.core.errors import NightjarError
from nightjar.core.tables import part_rows, read, read_part

K = 60
# Of a passage.
COLUMNS = ["passage", "document_id", "title", "text"]
# (passage number, score)
Hit = tuple[int, float]


class Rankings(NamedTuple):
    """Results of a search for each query, best first.

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
    missing from one adds nothing. The result has room for everything that was ranked; equal scores are in the order of
    the numbers.
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


Side = Literal["train", "dev", "test"]
# The numbers of passages and their scores, best first, each of shape (results,).
Ranking = tuple[NDArray[np.int64], NDArray[np.float64]]


def read_rankings(folder: Path, side: Side) -> dict[tuple[str, str], Ranking]:
    """The rankings of one side by (task_id, id), in the order of the table; none if the side has no rows."""
    rows = read(folder, RANKINGS, ["task_id", "id", "passages", "scores"], pc.field("split") == side)
    numbers, bounds = _flat(rows["passages"])
    scores, others = _flat(rows["scores"])
    if not np.array_equal(bounds, others):
        raise NightjarError("a ranking has not one score for each passage", folder, "run: nightjar rebuild")
    numbers, scores = numbers.astype(np.int64), scores.astype(np.float64)
    spans = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    keys = zip(rows["task_id"].to_pylist(), rows["id"].to_pylist(), strict=True)
    return {
        key: (numbers[start:end], scores[start:end]) for key, (start, end) in zip(keys, spans, strict=True)
    }


def rankings_table(side: Side, task_ids: Sequence[str], ids: Sequence[str], rankings: Rankings) -> pa.Table:
    """Rows of contracts.RANKINGS: one for each row of `rankings`, without its empty rest."""
    ranked = rankings.ids >= 0
    bounds = np.concatenate([[0], np.cumsum(np.count_nonzero(ranked, axis=1))]).astype(np.int32)
    columns = (("passages", rankings.ids[ranked]), ("scores", rankings.scores[ranked].astype(np.float64)))
    lists = [
        pa.ListArray.from_arrays(pa.array(bounds), pa.array(values), type=RANKINGS.schema.field(name).type)
        for name, values in columns
    ]
    names = [
        pa.array([side] * len(ids), pa.string()),
        pa.array(task_ids, pa.string()),
        pa.array(ids, pa.string()),
    ]
    return pa.Table.from_arrays([*names, *lists], schema=RANKINGS.schema)


class Passages:
    """The passages of an artifact of the stage index, by number.

    Parts of the table are read as they are needed, and the last 64 are kept: the table may be larger than memory.
    """

    def __init__(self, index: Path) -> None:
        self._index = index
        part_sizes = part_rows(index, PASSAGES)
        self._names, self._ends = list(part_sizes), np.cumsum(list(part_sizes.values()))
        self._part = lru_cache(64)(lambda name: read_part(index, PASSAGES, name, COLUMNS))

    def __len__(self) -> int:
        return int(self._ends[-1])

    def texts(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """The texts of the passages of these numbers, in their order."""
        texts: list[str] = self._take(numbers, ["text"])["text"].to_pylist()
        return texts

    def rows(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[dict[str, Any]]:
        """As `texts`, but whole rows: passage, document_id, title, text."""
        rows: list[dict[str, Any]] = self._take(numbers, COLUMNS).to_pylist()
        return rows

    def _take(self, numbers: Sequence[int] | NDArray[np.int64], columns: list[str]) -> pa.Table:
        places = np.asarray(numbers, np.int64)
        if len(places) and not (places.min() >= 0 and places.max() < len(self)):
            number = places.min() if places.min() < 0 else places.max()
            what = f"no passage {number}: the index has {len(self)}"
            raise NightjarError(what, self._index, "the ranking is of another index: nightjar rebuild")
        parts = self._ends.searchsorted(places, "right")
        rows = [PASSAGES.schema.empty_table().select(columns)]
        for part in np.unique(parts).tolist():
            table = self._part(self._names[part]).select(columns)
            first = self._ends[part] - len(table)
            rows.append(table.take(pa.array(places[parts == part] - first)))
        order = np.argsort(np.argsort(parts, kind="stable"))
        return pa.concat_tables(rows).take(pa.array(order))


def _flat(column: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """All values of a column of lists, and where each list begins; the last entry is where the last one ends."""
    lengths = pc.list_value_length(column).to_numpy()
    return pc.list_flatten(column).to_numpy(), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
