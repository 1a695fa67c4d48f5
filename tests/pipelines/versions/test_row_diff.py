"""The rows that differ are those that a plain comparison of dictionaries and multisets finds."""

from __future__ import annotations

import itertools
import json
import math
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightjar.core.errors import NightjarError
from pipelines.versions import matched_rows, parquet_parts, row_codes, row_diff, row_hashes
from pipelines.versions.parquet_parts import Parts

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
cells = st.fixed_dictionaries(
    {
        "text": st.none() | st.sampled_from(["", "a", "b", "é" * 30]),
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
) -> Parts:
    """The rows as `parts` files with row groups of `size` rows."""
    step = max(1, math.ceil(len(rows) / parts))
    contents: dict[str, Path | bytes] = {}
    for number, start in enumerate(range(0, max(1, len(rows)), step)):
        path = folder / f"{name}-{number}.parquet"
        table = pa.Table.from_pylist(rows[start : start + step], schema=schema)
        pq.write_table(table, path, row_group_size=size)
        contents[f"part-{number}"] = path
    opened = Parts(contents, name)
    opened.types = {field.name: field.type for field in schema}
    return opened


def frozen(value: Any) -> Any:
    """A value that is equal to another where both would be written alike."""
    return json.dumps(value, sort_keys=True)


@settings(max_examples=100, deadline=None)
@given(edited(), st.integers(1, 7), st.integers(1, 3), st.integers(1, 3), st.sampled_from([0, 2, 4]))
def test_by_key_as_two_dictionaries(
    pair: tuple[dict[Any, Row], dict[Any, Row]], size: int, parts_a: int, parts_b: int, window: int
) -> None:
    old, new = pair
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # 0: by hashes of the cells always.
        patch.setattr(matched_rows, "WINDOW", window)
        patch.setattr(parquet_parts, "OPEN", 1)
        a = written(Path(folder), "a", rows_of(old), size, parts_a)
        b = written(Path(folder), "b", rows_of(new), size, parts_b)
        found = row_diff.compare(row_diff.Pair(a, b), KEY, SCHEMA.names, None, 1000)
        cells = {
            (key, name)
            for key in old.keys() & new.keys()
            for name in VALUES
            if frozen(old[key][name]) != frozen(new[key][name])
        }
        changed = {key for key, _ in cells}
        assert found.counts == {
            "added": len(new.keys() - old.keys()),
            "removed": len(old.keys() - new.keys()),
            "changed": len(changed),
        }
        assert found.columns == Counter(name for _, name in cells)
        added, removed = (
            [parts.row(at) for at in places] for parts, places in ((b, found.added), (a, found.removed))
        )
        assert {frozen(row) for row in added} == {
            frozen(row) for row in rows_of(new) if key_of(row) not in old
        }
        assert {frozen(row) for row in removed} == {
            frozen(row) for row in rows_of(old) if key_of(row) not in new
        }
        told = set()
        for place_a, place_b, columns in found.changed:
            was, now = a.row(place_a), b.row(place_b)
            assert key_of(was) == key_of(now)
            told |= {(key_of(was), name) for name in columns}
            assert all(frozen(was[name]) != frozen(now[name]) for name in columns)
        assert told == cells


def key_of(row: Row) -> Any:
    return tuple(row[name] for name in KEY)


@settings(max_examples=50, deadline=None)
@given(st.lists(cells, max_size=12), st.lists(cells, max_size=12), st.integers(1, 5), st.integers(1, 2))
def test_without_a_key_as_two_multisets(old: list[Row], new: list[Row], size: int, parts: int) -> None:
    schema = pa.schema([SCHEMA.field(name) for name in VALUES])
    with tempfile.TemporaryDirectory() as folder:
        shared = old[: len(old) // 2]
        a = written(Path(folder), "a", shared + old, size, parts, schema)
        b = written(Path(folder), "b", shared + new, size, 1, schema)
        found = row_diff.compare(row_diff.Pair(a, b), [], VALUES, None, 1000)
        left, right = (Counter(map(frozen, rows)) for rows in (old, new))
        assert Counter(frozen(b.row(at)) for at in found.added) == right - left
        assert Counter(frozen(a.row(at)) for at in found.removed) == left - right
        assert found.counts["added"] == (right - left).total()
        assert (found.counts["changed"], found.changed) == (0, [])


@settings(max_examples=60, deadline=None)
@given(edited(), st.integers(1, 7), st.sampled_from([0, 4]), st.integers(0, 2))
def test_rows_that_a_column_tells_apart_as_two_multisets(
    pair: tuple[dict[Any, Row], dict[Any, Row]], size: int, window: int, doubles: int
) -> None:
    """Matched by their ids, unless some occur twice."""
    old, new = ([row | {"id": at[1], "task": at[0]} for at, row in version.items()] for version in pair)
    old, new = old + old[:doubles], new + new[1 : 1 + doubles]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(matched_rows, "WINDOW", window)
        a, b = written(Path(folder), "a", old, size, 1), written(Path(folder), "b", new, size, 2)
        found = row_diff.compare(row_diff.Pair(a, b), [], SCHEMA.names, None, 1000)
        left, right = (Counter(map(frozen, rows)) for rows in (old, new))
        assert Counter(frozen(b.row(at)) for at in found.added) == right - left
        assert Counter(frozen(a.row(at)) for at in found.removed) == left - right
        assert found.counts == {
            "added": (right - left).total(),
            "removed": (left - right).total(),
            "changed": 0,
        }


def test_long_texts_are_compared_rather_than_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a short column tells the rows apart."""
    rest = {"task": "t", "score": None, "tags": None, "note": None}
    old = [rest | {"id": n, "text": f"long {n} " * 50} for n in range(40)]
    new = [row | ({"text": "other"} if row["id"] == 7 else {}) for row in old[3:]]
    a, b = written(tmp_path, "a", old, 10, 1), written(tmp_path, "b", new, 10, 1)
    monkeypatch.delattr(row_hashes, "digests")
    found = row_diff.compare(row_diff.Pair(a, b), [], SCHEMA.names, None, 9)
    assert found.counts == {"added": 1, "removed": 4, "changed": 0}
    assert [a.row(at)["id"] for at in found.removed] == [0, 1, 2, 7]
    assert [b.row(at)["text"] for at in found.added] == ["other"]


def test_every_row_group_is_read_once_however_the_rows_are_ordered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = {"task": "t", "score": 0.5, "tags": ["x"], "note": None}
    old = [rest | {"id": n, "text": f"text {n}"} for n in range(90)]
    shifted = old[5:50] + old[51:]
    read: Counter[tuple[str, int]] = Counter()
    true = Parts.read

    def spy(self: Parts, blocks: Any, columns: Any) -> pa.Table:
        read.update((self.where, block.group) for block in blocks if "text" in columns)
        return true(self, blocks, columns)

    monkeypatch.setattr(Parts, "read", spy)
    for new in (shifted, shifted[::-1], sorted(shifted, key=lambda row: row["id"] * 37 % 90)):
        read.clear()
        a, b = written(tmp_path, "a", old, 10, 1), written(tmp_path, "b", new, 10, 1)
        found = row_diff.compare(row_diff.Pair(a, b), KEY, SCHEMA.names, None, 0)
        assert found.counts == {"added": 0, "removed": 6, "changed": 0}
        assert read == {("a", group): 1 for group in range(9)} | {("b", group): 1 for group in range(9)}


@settings(max_examples=40, deadline=None)
@given(edited(), st.data())
def test_shards_share_no_value_and_lose_no_part(
    pair: tuple[dict[Any, Row], dict[Any, Row]], data: st.DataObject
) -> None:
    """Parts of whole tasks under any names give what the table as one gives."""
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for side, version in zip("ab", pair, strict=True):
            tasks = sorted({key[0] for key in version}, key=repr)
            names = data.draw(st.permutations(["p1", "p2", "p3", "p4"]))
            contents: dict[str, Path | bytes] = {}
            for name, task in zip(names, tasks, strict=False):
                rows = [row for row in rows_of(version) if row["task"] == task]
                path = Path(folder, f"{side}-{name}.parquet")
                pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path, row_group_size=2)
                contents[name] = path
            parts = Parts(contents, side)
            parts.types = {field.name: field.type for field in SCHEMA}
            sides.append(parts)
        both = row_diff.Pair(*sides)
        groups = row_diff.shard_groups(both, "task")
        for side in (0, 1):
            assert sorted(itertools.chain(*(group[side] for group in groups))) == sorted(both[side].contents)
        whole = row_diff.compare(both, KEY, SCHEMA.names, None, 0)
        split = row_diff.compare(both, KEY, SCHEMA.names, "task", 0)
        assert (split.counts, split.columns) == (whole.counts, whole.columns)


def test_only_columns_whose_bytes_differ_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = [
        {"task": "t", "id": n, "text": f"long text {n}", "score": 0.5, "tags": [], "note": None}
        for n in range(50)
    ]
    new = [row | ({"score": 2.0} if row["id"] == 33 else {}) for row in old]
    a, b = written(tmp_path, "a", old, 10, 1), written(tmp_path, "b", new, 10, 1)
    read: list[tuple[int, tuple[str, ...]]] = []
    true = Parts.read

    def spy(self: Parts, blocks: Any, columns: Any) -> pa.Table:
        read.extend((block.group, tuple(columns)) for block in blocks)
        return true(self, blocks, columns)

    monkeypatch.setattr(Parts, "read", spy)
    found = row_diff.compare(row_diff.Pair(a, b), KEY, SCHEMA.names, None, 5)
    assert found.counts == {"added": 0, "removed": 0, "changed": 1}
    assert read == [(3, ("score",)), (3, ("score",))]


def test_a_key_that_occurs_twice_is_matched_in_order(tmp_path: Path) -> None:
    def row(text: str) -> Row:
        return {"task": "t", "id": 1, "text": text, "score": None, "tags": None, "note": None}

    a = written(tmp_path, "a", [row("x"), row("y"), row("z")], 5, 1)
    b = written(tmp_path, "b", [row("x"), row("w")], 5, 1)
    found = row_diff.compare(row_diff.Pair(a, b), KEY, SCHEMA.names, None, 5)
    assert found.counts == {"added": 0, "removed": 1, "changed": 1}


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", None, "a", "b"]).dictionary_encode(),
        pa.array([[1, 2], None, [1, 2], []], pa.list_(pa.int8())),
        pa.array([[1, 2], None, [1, 2], [2, 1]], pa.list_(pa.int8(), 2)),
        pa.array([[("k", 1)], None, [("k", 1)], [("k", 2)]], pa.map_(pa.string(), pa.int8())),
        pa.array([1.5, None, 1.5, math.nan], pa.float32()),
        pa.array([b"a", None, b"a", b""], pa.large_binary()),
        pa.array([True, None, True, False]),
        pa.array([1, None, 1, 2], pa.timestamp("us", tz="UTC")),
        pa.array([1, None, 1, 2], pa.decimal128(9, 2)),
    ],
    ids=lambda array: str(array.type),
)
def test_any_type_has_codes_and_digests(values: pa.Array) -> None:
    """Rows 0 and 2 are equal, the others are not; also behind a slice."""
    for array in (values, pa.concat_arrays([values[3:], values]).slice(1)):
        numbers = row_codes.codes(array)
        assert numbers[0] == numbers[2] and len(set(numbers.tolist())) == 3
        digests = row_hashes.digests(pa.table({"c": array})).to_pylist()
        assert digests[0] == digests[2] and len(set(digests)) == 3
        column = pa.chunked_array([array])
        turned = pa.chunked_array([array.take(pa.array([2, 0, 0, 3]))])
        assert row_codes.differ(column, turned).tolist() == [False, True, False, False]


def test_neighbouring_cells_do_not_run_together() -> None:
    rows = pa.table({"a": ["1:", "1", "", None, "-"], "b": ["x", ":x", "1:x", "x", None]})
    assert len(set(row_hashes.digests(rows).to_pylist())) == 5


def test_many_columns_do_not_overflow_the_codes() -> None:
    wide = [np.arange(5000, dtype=np.int64) for _ in range(8)]
    assert sorted(row_codes.combined(wide).tolist()) == list(range(5000))


def test_a_broken_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(NightjarError, match="v1:data/x: part-0: not readable as Parquet"):
        Parts({"part-0": tmp_path / "x.parquet"}, "v1:data/x").schema()
