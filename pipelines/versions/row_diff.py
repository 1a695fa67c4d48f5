"""Rows that were added, removed or changed between two versions of a table, matched by their keys.

Each version is read once, batch by batch. Of a row remain its key as text and a hash of 64 bits of each other value's
text. Null equals null, NaN equals NaN, and 1 equals 1 of another integer type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyarrow.dataset import Dataset

# Of a batch, which is in memory as Python objects.
ROWS = 1 << 12

Row = dict[str, Any]
# By the text of a key and its turn among equal keys: the place of the row, and a hash of each value.
HashedRows = dict[tuple[str, int], tuple[int, list[int]]]


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
    old, new = (_hashed_rows(side, key or columns, values) for side in (a, b))
    added = [place for row_key, (place, _) in new.items() if row_key not in old]
    removed = [place for row_key, (place, _) in old.items() if row_key not in new]
    pairs, cells = list[tuple[int, int, list[str]]](), Counter[str]()
    for row_key, (place, hashes) in old.items():
        if row_key in new:
            new_place, theirs = new[row_key]
            differ = [name for name, it, that in zip(values, hashes, theirs, strict=True) if it != that]
            cells.update(differ)
            if differ:
                pairs.append((place, new_place, differ))
    counts = {"added": len(added), "removed": len(removed), "changed": len(pairs)}
    was = _rows(a, [place for place, _, _ in pairs[:examples]])
    now = _rows(b, [place for _, place, _ in pairs[:examples]])
    changed = [
        {
            "key": {name: before[name] for name in key},
            "columns": {name: {"a": before[name], "b": after[name]} for name in differ},
        }
        for before, after, (_, _, differ) in zip(was, now, pairs, strict=False)
    ]
    example_rows = {
        "added": _rows(b, added[:examples]),
        "removed": _rows(a, removed[:examples]),
        "changed": changed,
    }
    return counts, {name: cells[name] for name in values if cells[name]}, example_rows


def _hashed_rows(side: Dataset, key: Sequence[str], values: Sequence[str]) -> HashedRows:
    hashed, turns = HashedRows(), Counter[str]()
    for batch in side.to_batches(
        columns=list(dict.fromkeys([*key, *values])), batch_size=ROWS, batch_readahead=1, fragment_readahead=1
    ):
        for row in batch.to_pylist():
            text = repr([row[name] for name in key])
            hashed[text, turns[text]] = len(hashed), [hash(repr(row[name])) for name in values]
            turns[text] += 1
    return hashed


def _rows(side: Dataset, places: Sequence[int]) -> list[Row]:
    rows: list[Row] = side.take(list(places)).to_pylist() if len(places) else []
    return rows
