"""Rows that were added, removed or changed between two versions of a Parquet table, found by DuckDB.

Each version is scanned once. DuckDB keeps the place of a row, a hash of 64 bits for its key and one for each other
column, and joins the versions by the hash of the key. Above the memory limit it writes to a temporary folder.

Values are compared by their text in DuckDB: null equals null and NaN equals NaN, 0.0 and -0.0 differ, and 1 equals 1 of
another integer type. Columns have numbers in the SQL, so that no name from a file is a part of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

# Each thread needs a part of the memory.
MEMORY, THREADS = "1GB", min(4, os.cpu_count() or 1)
# The rows of each kind, and the version whose order they have.
KINDS = {
    "added": ("row_a IS NULL", "b"),
    "removed": ("row_b IS NULL", "a"),
    "changed": ("row_a IS NOT NULL AND row_b IS NOT NULL", "a"),
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Side:
    """The files of one version of a table and the schema of the first. Of an empty side no row counts."""

    files: Sequence[Path]
    schema: pa.Schema
    empty: bool = False

    def scan(self, columns: str) -> str:
        """The query for these columns. Its parameter is the list of files."""
        names = ", ".join(f"column{number}" for number in range(len(self.schema)))
        source = f"read_parquet(?, hive_partitioning = false) AS t({names})"
        return f"SELECT file_index AS file, file_row_number AS row, {columns} FROM {source} WHERE {not self.empty}"  # noqa: S608

    def hashed(self, names: Iterable[str]) -> str:
        """One hash of the columns with these names."""
        return f"hash({', '.join(f'column{self.schema.get_field_index(name)}::VARCHAR' for name in names)})"


def compare(
    a: Side, b: Side, key: Sequence[str], columns: Sequence[str], examples: int, folder: Path
) -> tuple[dict[str, int], dict[str, int], dict[str, list[Row]]]:
    """Compare these columns of two versions of a table.

    `key` is a part of them, and empty if a row is identified by all its values. A key that occurs more than once is
    matched in order. `folder` is for temporary files. Raises duckdb.Error for a file that cannot be read.

    Returns the numbers of rows by kind, the changed cells by column, and the first rows of each kind in their order. A
    changed row is {"key": {column: value}, "columns": {column: {"a": value, "b": value}}}.
    """
    settings: dict[str, Any] = {"memory_limit": MEMORY, "threads": THREADS, "temp_directory": str(folder)}
    settings |= {"preserve_insertion_order": False, "enable_external_file_cache": False}
    settings |= {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    values = [name for name in columns if key and name not in key]
    shown: dict[str, list[Row]] = {}
    with duckdb.connect(config=settings) as database:
        _find_differing(database, a, b, key or columns, values)
        counted = [condition for condition, _ in KINDS.values()] + [f"differs{n}" for n in range(len(values))]
        query = f"SELECT {', '.join(f'count(*) FILTER ({it})' for it in counted)} FROM differing"  # noqa: S608
        counts = database.execute(query).fetchall()[0]
        for kind, (condition, order) in KINDS.items():
            query = f"FROM differing WHERE {condition} ORDER BY file_{order}, row_{order} LIMIT ?"
            places = database.execute(query, [examples]).fetchall()
            old = _rows(database, a, [place[:2] for place in places if kind != "added"])
            new = _rows(database, b, [place[2:4] for place in places if kind != "removed"])
            shown[kind] = list((old | new).values())
            if kind == "changed":
                shown[kind] = [_changed(key, values, old[it[:2]], new[it[2:4]], it[4:]) for it in places]
    cells = {name: count for name, count in zip(values, counts[len(KINDS) :], strict=True) if count}
    return dict(zip(KINDS, counts, strict=False)), cells, shown


def _changed(key: Sequence[str], values: Sequence[str], old: Row, new: Row, differs: Sequence[bool]) -> Row:
    names = [name for name, it in zip(values, differs, strict=True) if it]
    return {
        "key": {name: old[name] for name in key},
        "columns": {name: {"a": old[name], "b": new[name]} for name in names},
    }


def _find_differing(
    database: duckdb.DuckDBPyConnection, a: Side, b: Side, key: Sequence[str], values: Sequence[str]
) -> None:
    """Create the table `differing`: the places of rows that differ, and for each of `values` whether it does."""
    scans = []
    for side in (a, b):
        hashes = "".join(f", {side.hashed([name])} AS value{number}" for number, name in enumerate(values))
        turn = "row_number() OVER (PARTITION BY key ORDER BY file, row) AS turn"
        scans.append(f"(SELECT *, {turn} FROM ({side.scan(f'{side.hashed(key)} AS key{hashes}')}))")  # noqa: S608
    cells = "".join(f", a.value{n} <> b.value{n} AS differs{n}" for n in range(len(values)))
    any_cell = "".join(f" OR differs{n}" for n in range(len(values)))
    database.execute(
        "CREATE TEMP TABLE differing AS "  # noqa: S608
        f"SELECT a.file AS file_a, a.row AS row_a, b.file AS file_b, b.row AS row_b{cells} "
        f"FROM {scans[0]} AS a FULL JOIN {scans[1]} AS b USING (key, turn) "
        f"WHERE row_a IS NULL OR row_b IS NULL{any_cell}",
        [[str(path) for path in side.files] for side in (a, b)],
    )


def _rows(
    database: duckdb.DuckDBPyConnection, side: Side, places: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Row]:
    """The rows at these places with all their columns, in the order of the files."""
    if not places:
        return {}
    # DuckDB reads only the row groups of places that are constants in the query.
    chosen = " OR ".join(f"(file_index = {file} AND file_row_number = {row})" for file, row in places)
    query = f"{side.scan('t.*')} AND ({chosen}) ORDER BY file, row"
    found = database.execute(query, [[str(path) for path in side.files]]).to_arrow_table().to_pylist()
    return {
        (row.pop("file"), row.pop("row")): dict(zip(side.schema.names, row.values(), strict=True))
        for row in found
    }
