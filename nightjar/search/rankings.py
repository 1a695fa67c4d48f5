"""Rankings on disk (contracts.RANKINGS), and the passages that their numbers name (contracts.PASSAGES)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nightjar.core.contracts import PASSAGES, RANKINGS
from nightjar.core.errors import NightjarError
from nightjar.core.tables import read
from nightjar.search.fuse import Rankings

Side = Literal["train", "dev", "test"]
# The numbers of passages and their scores, best first, each of shape (results,).
Ranking = tuple[NDArray[np.int64], NDArray[np.float64]]


def read_rankings(folder: Path, side: Side) -> dict[tuple[str, str], Ranking]:
    """The rankings of one side by (task_id, id), in the order of the table; none if the side has no rows.

    Raises NightjarError if the table is missing or damaged, or a ranking has not one score for each passage.
    """
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


def rankings_table(side: Side, task_ids: Sequence[str], ids: Sequence[str], found: Rankings) -> pa.Table:
    """Rows of contracts.RANKINGS: one for each row of `found`, without its empty rest."""
    there = found.ids >= 0
    bounds = np.concatenate([[0], np.cumsum(np.count_nonzero(there, axis=1))]).astype(np.int32)
    columns = (("passages", found.ids[there]), ("scores", found.scores[there].astype(np.float64)))
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
    """The passages of an artifact of the stage index. Raises NightjarError if the table is missing or damaged."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self._table = read(index, PASSAGES, ["passage", "document_id", "title", "text"]).combine_chunks()

    def __len__(self) -> int:
        return len(self._table)

    def texts(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """The texts of the passages of these numbers, in their order. Raises NightjarError for an unknown number."""
        found: list[str] = self._take(numbers, ["text"])["text"].to_pylist()
        return found

    def rows(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[dict[str, Any]]:
        """As `texts`, but whole rows: passage, document_id, title, text."""
        found: list[dict[str, Any]] = self._take(numbers, self._table.column_names).to_pylist()
        return found

    def _take(self, numbers: Sequence[int] | NDArray[np.int64], columns: list[str]) -> pa.Table:
        wanted = np.asarray(numbers, np.int64)
        if len(wanted) and not (wanted.min() >= 0 and wanted.max() < len(self)):
            what = (
                f"no passage {wanted.min() if wanted.min() < 0 else wanted.max()}: the index has {len(self)}"
            )
            raise NightjarError(what, self._index, "the ranking is of another index: nightjar rebuild")
        return self._table.select(columns).take(pa.array(wanted))


def _flat(column: pa.ChunkedArray) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """All values of a column of lists, and where each list begins; the last entry is where the last one ends."""
    lengths = pc.list_value_length(column).to_numpy()
    return pc.list_flatten(column).to_numpy(), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
