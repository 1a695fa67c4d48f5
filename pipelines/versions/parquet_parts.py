"""Parquet files of one version of a table, mapped into memory and opened when they are needed; row group by row
group, down to the stored bytes of a column.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from nightjar.core.errors import NightjarError

# Files that are open at once.
OPEN = 64


class Block(NamedTuple):
    """A row group: its part, its number there, its rows, and the bytes that they take decoded."""

    part: str
    group: int
    rows: int
    bytes: int


class Place(NamedTuple):
    """One row."""

    block: Block
    row: int


class Opened:
    """One Parquet file mapped into memory."""

    def __init__(self, content: Path | bytes, where: str) -> None:
        try:
            mapped = isinstance(content, Path)
            self.buffer = pa.memory_map(str(content)).read_buffer() if mapped else pa.py_buffer(content)
            self.parquet = pq.ParquetFile(pa.BufferReader(self.buffer))
        except (pa.ArrowInvalid, OSError) as error:
            raise NightjarError(f"not readable as Parquet ({error})", where, "rebuild or fetch it") from None
        self.schema: pa.Schema = self.parquet.schema_arrow
        self.metadata = self.parquet.metadata
        ends = list(accumulate(_leaves(column.type) for column in self.schema))
        self.leaves = {
            column.name: range(end - _leaves(column.type), end)
            for column, end in zip(self.schema, ends, strict=True)
        }

    def same_bytes(self, other: Opened, group: int, column: str) -> bool:
        """Whether a column of a row group is stored as the same bytes in the same way in both files."""
        mine, others = self.metadata.row_group(group), other.metadata.row_group(group)
        for leaf in self.leaves[column]:
            a, b = mine.column(leaf), others.column(leaf)
            if (a.total_compressed_size, a.compression, a.encodings, a.num_values) != (
                b.total_compressed_size,
                b.compression,
                b.encodings,
                b.num_values,
            ):
                return False
            if not self._stored(a).equals(other._stored(b)):
                return False
        return True

    def _stored(self, chunk: Any) -> pa.Buffer:
        start = chunk.data_page_offset
        if chunk.has_dictionary_page and chunk.dictionary_page_offset:
            start = min(start, chunk.dictionary_page_offset)
        return self.buffer.slice(start, chunk.total_compressed_size)


def _leaves(kind: pa.DataType) -> int:
    """How many Parquet columns a type takes."""
    if isinstance(kind, pa.BaseExtensionType):
        return _leaves(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return 1
    return sum(_leaves(kind.field(at).type) for at in range(kind.num_fields)) if kind.num_fields else 1


class Parts:
    """The Parquet parts of one version of a table that may differ, opened when they are needed.

    `contents` are the files, or their bytes, by name; `where` names the version in errors.
    """

    def __init__(self, contents: Mapping[str, Path | bytes], where: str) -> None:
        self.contents, self.where = contents, where
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._last: tuple[Block, pa.Table] | None = None
        self.types: dict[str, pa.DataType] = {}

    def open(self, part: str) -> Opened:
        if part not in self._open:
            self._open[part] = Opened(self.contents[part], f"{self.where}: {part}")
            if len(self._open) > OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(part)
        return self._open[part]

    def schema(self) -> pa.Schema | None:
        """The columns of the first part; None if there is no part."""
        first = next(iter(self.contents), None)
        return self.open(first).schema if first is not None else None

    def blocks(self, part: str) -> list[Block]:
        groups = (
            self.open(part).metadata.row_group(at) for at in range(self.open(part).metadata.num_row_groups)
        )
        return [Block(part, at, group.num_rows, group.total_byte_size) for at, group in enumerate(groups)]

    def short(self, block: Block, columns: Sequence[str]) -> list[str]:
        """Columns that take no more than a quarter of the block's bytes each, the longest first: among them those
        that name a row are likely to come early.
        """
        opened = self.open(block.part)
        group = opened.metadata.row_group(block.group)
        sizes = {
            name: sum(group.column(leaf).total_uncompressed_size for leaf in opened.leaves[name])
            for name in columns
        }
        few = [name for name in columns if 4 * sizes[name] <= sum(sizes.values())]
        return sorted(few, key=sizes.__getitem__, reverse=True)

    def read(self, blocks: Sequence[Block], columns: Sequence[str]) -> pa.Table:
        """The blocks' rows, one after another, in the types that both versions share."""
        if not blocks:
            return pa.schema([(name, self.types[name]) for name in columns]).empty_table()
        tables = []
        for part in dict.fromkeys(block.part for block in blocks):
            groups = [block.group for block in blocks if block.part == part]
            try:
                table = self.open(part).parquet.read_row_groups(groups, columns=list(columns))
                tables.append(self._cast(table.select(list(columns))))
            except (pa.ArrowException, KeyError, OSError) as error:
                where = f"{self.where}: {part}"
                raise NightjarError(f"cannot be read ({error})", where, "rebuild or fetch it") from None
        return pa.concat_tables(tables)

    def row(self, place: Place) -> dict[str, Any]:
        """One row with all its columns as Python values; the last row group is remembered."""
        if self._last is None or self._last[0] != place.block:
            table = self.read([place.block], self.open(place.block.part).schema.names)
            self._last = (place.block, table)
        found: dict[str, Any] = self._last[1].slice(place.row, 1).to_pylist()[0]
        return found

    def _cast(self, table: pa.Table) -> pa.Table:
        for at, name in enumerate(table.column_names):
            kind = self.types.get(name, table.schema.field(at).type)
            if table.schema.field(at).type != kind:
                table = table.set_column(at, name, table.column(at).cast(kind))
        return table
