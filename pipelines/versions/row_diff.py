"""Rows that were added, removed or changed between two versions of a table, matched by their keys with pandas.

Each version is read once, batch by batch. Of a row remain a hash of 64 bits of its key and one of each other column.
Values are compared by their text: null equals null, NaN equals NaN, and 1 equals 1 of another integer type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow.dataset import Dataset

# Of a batch: its texts are in memory twice.
ROWS = 1 << 14
# Stands for null, which is like no text.
NULL = "\0null"

Row = dict[str, Any]


def compare(
    a: Dataset, b: Dataset, key: Sequence[str], columns: Sequence[str], examples: int
) -> tuple[dict[str, int], dict[str, int], dict[str, list[Row]]]:
    """Compare these columns of two versions of a table.

    `key` is a part of them, and empty if a row is identified by all its values. A key that occurs more than once is
    matched in order. Raises pa.ArrowException and OSError for a file that cannot be read.

    Returns the numbers of rows by kind, the changed cells by column, and the first rows of each kind in their order. A
    changed row is {"key": {column: value}, "columns": {column: {"a": value, "b": value}}}.
    """
    values = [name for name in columns if key and name not in key]
    old, new = (_hashed(side, key or columns, values) for side in (a, b))
    join = ["key", "turn"]
    both = old[join].reset_index().merge(new[join].reset_index(), on=join, how="outer")
    both = both[["index_x", "index_y"]].sort_values(["index_x", "index_y"])
    added = both.index_y[both.index_x.isna()].astype(int)
    removed = both.index_x[both.index_y.isna()].astype(int)
    pairs = both.dropna().astype(int)
    numbers = list(range(len(values)))
    differs = old.loc[pairs.index_x, numbers].to_numpy() != new.loc[pairs.index_y, numbers].to_numpy()
    pairs, differs = pairs[differs.any(axis=1)], differs[differs.any(axis=1)]
    counts = {"added": len(added), "removed": len(removed), "changed": len(pairs)}
    cells = {name: int(count) for name, count in zip(values, differs.sum(axis=0), strict=True) if count}
    was, now = _rows(a, pairs.index_x[:examples]), _rows(b, pairs.index_y[:examples])
    changed = [
        {
            "key": {name: before[name] for name in key},
            "columns": {
                name: {"a": before[name], "b": after[name]}
                for name, differ in zip(values, found, strict=True)
                if differ
            },
        }
        for before, after, found in zip(was, now, differs[:examples], strict=True)
    ]
    shown = {"added": _rows(b, added[:examples]), "removed": _rows(a, removed[:examples]), "changed": changed}
    return counts, cells, shown


def _hashed(side: Dataset, key: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Of each row a hash of its `key`, its `turn` among those with this key, and a hash of each value by number."""
    frames = [pd.DataFrame(columns=["key", *range(len(values))], dtype="uint64")]
    for batch in side.to_batches(
        columns=list(dict.fromkeys([*key, *values])), batch_size=ROWS, batch_readahead=1, fragment_readahead=1
    ):
        hashes = pd.DataFrame({number: _hash(batch.column(name)) for number, name in enumerate(key)})
        own = pd.DataFrame({number: _hash(batch.column(name)) for number, name in enumerate(values)})
        frames.append(own.assign(key=pd.util.hash_pandas_object(hashes, index=False)))
    found = pd.concat(frames, ignore_index=True)
    return found.assign(turn=found.groupby("key").cumcount())


def _hash(values: pa.Array) -> Any:
    """A hash of the text of each value, as an array of uint64. The type alone decides how a text is made."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    try:
        if not (pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise pa.ArrowNotImplementedError
        texts = values.cast(pa.string()).fill_null(NULL).to_numpy(zero_copy_only=False)
    except pa.ArrowNotImplementedError:
        texts = [NULL if value is None else repr(value) for value in values.to_pylist()]
        texts = pd.Series(texts, dtype=object).to_numpy()
    return pd.util.hash_array(texts, categorize=False)


def _rows(side: Dataset, places: Sequence[int]) -> list[Row]:
    """The rows at these places, with all their columns."""
    found: list[Row] = side.take(list(places)).to_pylist() if len(places) else []
    return found
