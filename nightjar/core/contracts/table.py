"""What a contract says of a table, and the columns that several tables share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from nightjar.core.arrow import leave_pandas

leave_pandas()  # here, for all that handles tables knows their contracts

STRINGS = pa.list_(pa.field("element", pa.string(), nullable=False))
EXAMPLES = pa.list_(
    pa.field(
        "element",
        pa.struct(
            [pa.field(name, pa.string(), nullable=False) for name in ("input", "output")]
            + [pa.field("explanation", pa.string())]
        ),
        nullable=False,
    )
)


@dataclass(frozen=True)
class Table:
    """One table: its schema, the columns that identify a row, and the allowed values or ranges of columns.

    `key` is unique in the whole artifact. `shard` names the column of which every Parquet part holds one value,
    so that uniqueness can be checked part by part in constant memory.
    """

    name: str
    version: int
    schema: pa.Schema
    key: tuple[str, ...]
    shard: str | None = None
    allowed: Mapping[str, frozenset[str]] | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None


def schema(*fields: tuple[str, pa.DataType] | tuple[str, pa.DataType, bool]) -> pa.Schema:
    """A schema whose fields are not nullable unless a third element says so."""
    return pa.schema(
        [pa.field(field[0], field[1], nullable=len(field) > 2 and bool(field[2])) for field in fields]
    )


# Where a row came from; every table that holds source rows begins with it.
PROVENANCE: tuple[tuple[str, pa.DataType], ...] = (("dataset", pa.string()), ("file", pa.string()))
INSTANCE_COLUMNS: tuple[tuple[str, pa.DataType], ...] = (
    *PROVENANCE,
    ("task_id", pa.string()),
    ("id", pa.string()),
    ("index", pa.int32()),
    ("input", pa.string()),
    ("outputs", STRINGS),
)
