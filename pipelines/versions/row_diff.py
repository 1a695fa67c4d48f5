"""Rows that were added, removed or changed between two versions of a Parquet table, found by DuckDB.

Each version is scanned once, and its key once more. DuckDB keeps the key of a row, its place and a hash of 64 bits
for each other column, and joins the versions by the key. Above the memory limit it writes to a temporary folder.

Values are equal if they would be written alike: null equals null and NaN equals NaN, 0.0 and -0.0 differ. Columns
have numbers in the SQL, so that no name from a file is a part of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

# Each thread needs a part of the memory.
MEMORY, THREADS = "1GB", min(4, os.cpu_count() or 1)
KINDS = {
    "added": "row_a IS NULL",
    "removed": "row_b IS NULL",
    "changed": "row_a IS NOT NULL AND row_b IS NOT NULL",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Side:
    """The files of one version of a table and the schema of the first. Of an empty side no row counts."""

    files: Sequence[Path]
    schema: pa.Schema
    empty: bool = False


@dataclass
class Found:
    """What differs: numbers of rows, changed cells by column, and the first rows of each kind in their order.

    A changed row is given as it is in both versions, with the names of the columns that differ.
    """

    counts: dict[str, int]
    columns: dict[str, int]
    added: list[Row]
    removed: list[Row]
    changed: list[tuple[Row, Row, list[str]]]


def compare(
    a: Side, b: Side, key: Sequence[str], columns: Mapping[str, pa.DataType], examples: int, folder: Path
) -> Found:
    """Compare two versions of a table.

    `columns` has the columns to compare and the types to compare them in. `key` is a part of them, and empty if a row
    is identified by all its values. A key that occurs more than once is matched in order. `folder` is for temporary
    files. Raises duckdb.Error for a file that cannot be read.
    """
    settings: dict[str, Any] = {"memory_limit": MEMORY, "threads": THREADS, "temp_directory": str(folder)}
    settings |= {"preserve_insertion_order": False, "enable_external_file_cache": False}
    settings |= {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    values = {name: number for number, name in enumerate(columns) if key and name not in key}
    with duckdb.connect(config=settings) as database:
        _find_differing(database, (a, b), key, columns)
        conditions = [*KINDS.values(), *(f"differs{number}" for number in values.values())]
        query = f"SELECT {', '.join(f'count(*) FILTER ({it})' for it in conditions)} FROM differing"  # noqa: S608
        counts = dict(zip([*KINDS, *values], database.execute(query).fetchall()[0], strict=True))
        places = {kind: _places(database, kind, values, examples) for kind in KINDS}
    read = lru_cache(maxsize=2)(_read_row_group)
    return Found(
        {kind: counts[kind] for kind in KINDS},
        {name: counts[name] for name in values if counts[name]},
        [_row(read, b, *place_b) for _, place_b, _ in places["added"]],
        [_row(read, a, *place_a) for place_a, _, _ in places["removed"]],
        [
            (_row(read, a, *place_a), _row(read, b, *place_b), names)
            for place_a, place_b, names in places["changed"]
        ],
    )


def _find_differing(
    database: duckdb.DuckDBPyConnection,
    sides: tuple[Side, Side],
    key: Sequence[str],
    columns: Mapping[str, pa.DataType],
) -> None:
    """Create the table `differing`: the places of rows that differ, and for each column that is not a part of the key
    whether it does.
    """
    files = [[str(path) for path in side.files] for side in sides]
    scans = [_scan(side, key, columns) for side in sides]
    identity = [f"value{number}" for number, name in enumerate(columns) if name in key or not key]
    values = [number for number, name in enumerate(columns) if key and name not in key]
    turn = "1"
    if not key or any(_repeats(database, *it, identity) for it in zip(scans, files, strict=True)):
        turn = f"row_number() OVER (PARTITION BY {', '.join(['1', *identity])} ORDER BY file, row)"
    a, b = (f"(SELECT *, {turn} AS turn FROM ({scan}))" for scan in scans)  # noqa: S608
    same = " AND ".join(["a.turn = b.turn", *(f"a.{it} IS NOT DISTINCT FROM b.{it}" for it in identity)])
    places = "a.file AS file_a, a.row AS row_a, b.file AS file_b, b.row AS row_b"
    cells = "".join(f", a.value{number} <> b.value{number} AS differs{number}" for number in values)
    any_cell = "".join(f" OR differs{number}" for number in values)
    database.execute(
        f"CREATE TEMP TABLE differing AS SELECT {places}{cells} FROM {a} AS a FULL JOIN {b} AS b ON {same} "  # noqa: S608
        f"WHERE row_a IS NULL OR row_b IS NULL{any_cell}",
        files,
    )


def _scan(side: Side, key: Sequence[str], columns: Mapping[str, pa.DataType]) -> str:
    """The query for the place of each row, the values of its key and the hashes of its other columns."""
    names = [f"column{number}" for number in range(len(side.schema))]
    chosen = ["file_index AS file", "file_row_number AS row"]
    for number, (name, kind) in enumerate(columns.items()):
        value = _comparable(names[side.schema.get_field_index(name)], kind)
        chosen.append(f"{value if name in key else f'hash({value})'} AS value{number}")
    source = f"read_parquet(?, hive_partitioning = false) AS t({', '.join(names)})"
    return f"SELECT {', '.join(chosen)} FROM {source} WHERE {not side.empty}"  # noqa: S608


def _comparable(column: str, kind: pa.DataType) -> str:
    """The column as values that differ where they would be written differently."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_signed_integer(kind):
        return f"{column}::BIGINT"
    if pa.types.is_floating(kind):
        return f"{column}::DOUBLE::VARCHAR"
    return f"{column}::VARCHAR" if pa.types.is_nested(kind) else column


def _repeats(
    database: duckdb.DuckDBPyConnection, scan: str, files: Sequence[str], identity: Sequence[str]
) -> bool:
    """Whether a key occurs more than once in a version."""
    query = f"SELECT count(*) > count(DISTINCT hash({', '.join(identity)})) FROM ({scan})"  # noqa: S608
    return bool(database.execute(query, [files]).fetchall()[0][0])


def _places(
    database: duckdb.DuckDBPyConnection, kind: str, values: Mapping[str, int], count: int
) -> list[tuple[tuple[int, int], tuple[int, int], list[str]]]:
    """The first differing rows of a kind: file and row in both versions, and the columns that differ."""
    cells = "".join(f", differs{number}" for number in values.values())
    order = "file_b, row_b" if kind == "added" else "file_a, row_a"
    query = (
        f"SELECT file_a, row_a, file_b, row_b{cells} FROM differing "  # noqa: S608
        f"WHERE {KINDS[kind]} ORDER BY {order} LIMIT ?"
    )
    return [
        (found[:2], found[2:4], [name for name, differs in zip(values, found[4:], strict=True) if differs])
        for found in database.execute(query, [count]).fetchall()
    ]


def _row(read: Callable[[Path, int], pa.Table], side: Side, file: int, number: int) -> Row:
    """One row with all its columns as Python values."""
    metadata = pq.read_metadata(side.files[file])
    for group in range(metadata.num_row_groups):
        if number < metadata.row_group(group).num_rows:
            return dict(read(side.files[file], group).slice(number, 1).to_pylist()[0])
        number -= metadata.row_group(group).num_rows
    raise IndexError(number)


def _read_row_group(path: Path, number: int) -> pa.Table:
    with pq.ParquetFile(path) as parquet:
        return parquet.read_row_group(number)
