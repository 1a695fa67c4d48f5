"""The rows that differ are those that a plain comparison of dictionaries and multisets finds."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as datasets
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.versions import row_diff

SCHEMA = pa.schema(
    [
        ("task", pa.string()),
        ("id", pa.int32()),
        ("text", pa.string()),
        ("score", pa.float64()),
        ("tags", pa.list_(pa.string())),
        ("note", pa.struct([("n", pa.int64()), ("day", pa.date32())])),
    ]
)
KEY = ["task", "id"]
VALUES = [name for name in SCHEMA.names if name not in KEY]

Row = dict[str, Any]


class Found(NamedTuple):
    """What `compare` returns."""

    rows: dict[str, int]
    columns: dict[str, int]
    examples: dict[str, list[Row]]


cells = st.fixed_dictionaries(
    {
        "text": st.none() | st.sampled_from(["", "nan", "None", "null", "é" * 30]),
        "score": st.none() | st.sampled_from([0.0, -0.0, 1.5, math.nan]),
        "tags": st.none() | st.lists(st.none() | st.sampled_from(["x", "y", ""]), max_size=2),
        "note": st.none() | st.fixed_dictionaries({"n": st.none() | st.integers(0, 2), "day": st.none()}),
    }
)
keys = st.tuples(st.none() | st.sampled_from(["t1", "t2", "t3"]), st.integers(0, 12))
versions = st.dictionaries(keys, cells, max_size=25)


@st.composite
def edited(draw: st.DrawFn) -> tuple[dict[Any, Row], dict[Any, Row]]:
    """A version, and one that shares most of its rows; in the order in which rows are to be stored."""
    old = draw(versions)
    new = {key: (draw(cells) if draw(st.integers(0, 4)) == 0 else row) for key, row in old.items()}
    for key in draw(st.lists(st.sampled_from(sorted(old, key=repr)), max_size=4)) if old else []:
        new.pop(key, None)
    new |= draw(st.dictionaries(keys, cells, max_size=3))
    if draw(st.booleans()):
        new = dict(draw(st.permutations(list(new.items()))))
    return old, new


def rows_of(version: dict[Any, Row]) -> list[Row]:
    return [dict(zip(KEY, key, strict=True)) | row for key, row in version.items()]


def written(
    folder: Path, name: str, rows: list[Row], size: int, parts: int, schema: pa.Schema = SCHEMA
) -> datasets.Dataset:
    """The rows as `parts` files with row groups of `size` rows."""
    step = max(1, math.ceil(len(rows) / parts))
    files = []
    for number, start in enumerate(range(0, max(1, len(rows)), step)):
        files.append(folder / f"{name}-{number}.parquet")
        table = pa.Table.from_pylist(rows[start : start + step], schema=schema)
        pq.write_table(table, files[-1], row_group_size=size)
    return datasets.dataset([str(it) for it in files])


def side(folder: Path, name: str, table: pa.Table, **options: Any) -> datasets.Dataset:
    """The table as one file."""
    pq.write_table(table, folder / f"{name}.parquet", **options)
    return datasets.dataset(folder / f"{name}.parquet")


def compare(a: datasets.Dataset, b: datasets.Dataset, key: list[str], examples: int = 1000) -> Found:
    return Found(*row_diff.compare(a, b, key, a.schema.names, examples))


def frozen(value: Any) -> Any:
    """A value that is equal to another where both would be written alike."""
    return json.dumps(value, sort_keys=True)


def key_of(row: Row) -> Any:
    return tuple(row[name] for name in KEY)


@settings(max_examples=40, deadline=None)
@given(edited(), st.integers(1, 7), st.integers(1, 3), st.integers(1, 3))
def test_by_key_as_two_dictionaries(
    pair: tuple[dict[Any, Row], dict[Any, Row]], size: int, parts_a: int, parts_b: int
) -> None:
    old, new = pair
    with tempfile.TemporaryDirectory() as folder:
        a = written(Path(folder), "a", rows_of(old), size, parts_a)
        b = written(Path(folder), "b", rows_of(new), size, parts_b)
        found = compare(a, b, KEY)
    cells = {
        (key, name)
        for key in old.keys() & new.keys()
        for name in VALUES
        if frozen(old[key][name]) != frozen(new[key][name])
    }
    changed = {key for key, _ in cells}
    assert found.rows == {
        "added": len(new.keys() - old.keys()),
        "removed": len(old.keys() - new.keys()),
        "changed": len(changed),
    }
    assert found.columns == Counter(name for _, name in cells)
    # In the order of the files.
    assert frozen(found.examples["added"]) == frozen([row for row in rows_of(new) if key_of(row) not in old])
    assert frozen(found.examples["removed"]) == frozen(
        [row for row in rows_of(old) if key_of(row) not in new]
    )
    assert frozen(found.examples["changed"]) == frozen(
        [
            {
                "key": dict(zip(KEY, key, strict=True)),
                "columns": {
                    name: {"a": old[key][name], "b": new[key][name]}
                    for name in VALUES
                    if (key, name) in cells
                },
            }
            for key in old
            if key in changed
        ]
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(cells, max_size=12), st.lists(cells, max_size=12), st.integers(1, 5), st.integers(1, 2))
def test_without_a_key_as_two_multisets(old: list[Row], new: list[Row], size: int, parts: int) -> None:
    schema = pa.schema([SCHEMA.field(name) for name in VALUES])
    with tempfile.TemporaryDirectory() as folder:
        shared = old[: len(old) // 2]
        a = written(Path(folder), "a", shared + old, size, parts, schema)
        b = written(Path(folder), "b", shared + new, size, 1, schema)
        found = compare(a, b, [])
    left, right = (Counter(map(frozen, rows)) for rows in (old, new))
    assert Counter(map(frozen, found.examples["added"])) == right - left
    assert Counter(map(frozen, found.examples["removed"])) == left - right
    assert found.rows == {
        "added": (right - left).total(),
        "removed": (left - right).total(),
        "changed": 0,
    }
    assert found.examples["changed"] == []


@pytest.mark.parametrize(
    ("values", "others"),
    [
        (pa.array(["a", None]), pa.array(["a", None]).dictionary_encode()),
        (pa.array(["a", None]), pa.array(["a", None], pa.large_string())),
        (pa.array([1, None], pa.int8()), pa.array([1, None], pa.int64())),
        (pa.nulls(2), pa.array([None, None], pa.string())),
        (pa.nulls(2), pa.array([None, None], pa.list_(pa.int8()))),
    ],
    ids=lambda array: str(array.type),
)
def test_a_column_may_change_its_type(tmp_path: Path, values: pa.Array, others: pa.Array) -> None:
    a, b = (pa.table({"id": [1, 2], "value": column}) for column in (values, others))
    assert compare(side(tmp_path, "a", a), side(tmp_path, "b", b), ["id"]).rows["changed"] == 0
