"""Parquet artifacts: the only way Nightjar's stages read and write tables.

An artifact is a directory with one folder of Parquet parts a table, and `rejected.parquet` for the rows that
were refused. It is written to a temporary sibling and renamed when complete, so that a killed stage leaves
the old version or none. The bytes depend on the rows alone: no clock, host or path in them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nightjar.core import paths
from nightjar.core.arguments import AnyPath
from nightjar.core.contracts import REJECTED, Table
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import (
    FILE,
    FOLDER,
    check_input,
    folder_output,
    kind,
    remove,
    replace,
    replacing,
    temporary_sibling,
)
from nightjar.core.rules import BrokenRule, Keys, broken_values

REJECTED_FILE = "rejected.parquet"
# What reading a file that is cut off, or no Parquet at all, raises; the name of a column may not be UTF-8.
UNREADABLE = (pa.ArrowException, UnicodeDecodeError, OSError)
# Long texts: a row group of 8,192 rows stays in the tens of megabytes.
ROWS_PER_GROUP = 8192
# Columns whose values hardly repeat: a dictionary of them costs time and makes the file larger.
_FREE_TEXT = frozenset({"id", "input", "text", "prompt", "raw", "prediction"})
# Columns that readers filter on: their smallest and largest values let whole row groups be skipped.
_SEARCHED = ("task_id", "id")


def artifact_output(
    path: Path, contracts: Sequence[Table], more: Container[str], inputs: Iterable[Path]
) -> AbstractContextManager[Path]:
    """The folder that becomes an artifact the user named (`files.folder_output`).

    An earlier artifact is replaced if it holds nothing but the tables of `contracts`, and of other files those of
    `more` (paths from the folder).
    """
    return folder_output(path, inputs, lambda folder: _foreign(folder, contracts, more))


def _foreign(path: Path, contracts: Sequence[Table], more: Container[str]) -> str:
    """Describe a file of the folder that is no part of an artifact with these tables, "" for none."""
    folder_contracts = {f"{contract.name}/": contract for contract in contracts}
    files = sorted(file for file in path.rglob("*") if kind(file) != FOLDER or not any(file.iterdir()))
    for file in files:
        name = file.relative_to(path).as_posix()
        expected = REJECTED if name == REJECTED_FILE else folder_contracts.get(name.removesuffix(file.name))
        if name not in more and not (expected and file.suffix == ".parquet" and _has_columns(file, expected)):
            return f"{name} in it is no part of an artifact of {', '.join(it.name for it in contracts)}"
    return f"no {REJECTED_FILE} is in it" if files and path / REJECTED_FILE not in files else ""


def _has_columns(file: Path, contract: Table) -> bool:
    try:
        return kind(file) == FILE and pq.read_schema(file).names == contract.schema.names
    except UNREADABLE:
        return False


def write_file(path: Path, contract: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Write one table as a single Parquet file, whole or not at all: local facts that belong to no artifact."""
    table = pa.Table.from_pylist(list(rows), schema=contract.schema)
    check(contract, table, path)
    with replacing(path) as new_file:
        _write_part(table, new_file)


def read_file(path: Path, contract: Table, where: pc.Expression | None = None) -> pa.Table:
    """The table in a file of `write_file`. Raises NightjarError if it is missing or unreadable."""
    if not path.is_file():
        raise NightjarError("no such file", path, "run the stage that makes it: nightjar rebuild")
    return _table([path], contract, None, where)


class ArtifactWriter:
    """Writes one artifact; use as a context manager: it is published only if the block ends without an error.

    with ArtifactWriter(Path("data/split")) as writer:
        writer.write(contracts.TASKS, table)
        writer.reject(rows)
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = Path(path)
        self.rejected: list[dict[str, Any]] = []
        self._written: dict[str, tuple[Keys, list[int]]] = {}

    def __enter__(self) -> ArtifactWriter:
        self.temporary = temporary_sibling(self.path)
        self.temporary.mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            remove(self.temporary)
            return
        try:
            for name, (keys, _) in self._written.items():
                _refuse(keys.finish(), self.path / name)
            rejected = pa.Table.from_pylist(self.rejected, schema=REJECTED.schema)
            _write_part(rejected, self.temporary / REJECTED_FILE)
            replace(self.temporary, self.path)
        except BaseException:
            remove(self.temporary)
            raise

    def write(self, contract: Table, rows: pa.Table | Sequence[dict[str, Any]], part: str = "part-0") -> int:
        """Write `rows` as one Parquet part of the contract's table; returns the number of rows."""
        where = self.path / contract.name / part
        if not re.fullmatch(r"[A-Za-z0-9_.\-]+", part) or part.startswith("."):
            raise NightjarError(f"{part!r} is not a safe file name", where, "rename its source")
        if isinstance(rows, pa.Table):
            if rows.schema.names != contract.schema.names:
                raise NightjarError(
                    f"columns are {rows.schema.names}", where, f"wanted {contract.schema.names}"
                )
            table = rows.cast(contract.schema)
        else:
            table = pa.Table.from_pylist(list(rows), schema=contract.schema)
        keys, rows_of_parts = self._written.setdefault(contract.name, (Keys(contract), []))
        check(contract, table, where)
        _refuse(keys.add(table, part), where)
        folder = self.temporary / contract.name
        folder.mkdir(exist_ok=True)
        _write_part(table, folder / f"{part}.parquet")
        rows_of_parts.append(len(table))
        return len(table)

    def write_parts(self, contract: Table, rows: Iterable[dict[str, Any]], size: int) -> int:
        """Write `rows` in parts of `size` rows as they come; returns the number of rows. Raises as `write`."""
        rows, part = iter(rows), 0
        while chunk := list(islice(rows, size)):
            self.write(contract, chunk, f"part-{part:05d}")
            part += 1
        return self.rows(contract) if part else 0

    def reject(self, dataset: str, file: str, reason: str, raw: str, id: str | None = None) -> None:
        """Record one refused row: nothing is dropped in silence."""
        self.rejected.append({"dataset": dataset, "file": file, "id": id, "reason": reason, "raw": raw})

    def rows(self, contract: Table) -> int:
        """Rows written so far to the contract's table."""
        return sum(self._written[contract.name][1]) if contract.name in self._written else 0

    def folder(self, name: str) -> Path:
        """A folder inside the artifact for files that are not tables, such as a search index."""
        path = self.temporary / name
        path.mkdir(exist_ok=True)
        return path


def check(contract: Table, table: pa.Table, where: object) -> None:
    """Raise NightjarError if `table` breaks the contract's rules on nulls, allowed values or ranges."""
    _without_nulls(table, contract, where)
    _refuse(broken_values(contract, table), where)


def _refuse(findings: Iterable[BrokenRule], where: object) -> None:
    """Raise NightjarError for the first finding."""
    for finding in findings:
        raise NightjarError(f"{finding.what}, such as {dict(finding.rows[0])}", where, finding.fix)


def _without_nulls(table: pa.Table, contract: Table, where: object) -> pa.Table:
    """Return `table` after a check that no value is missing that the contract needs, also within a list."""
    for name in table.column_names:
        if _lacks(table[name], contract.schema.field(name)):
            raise NightjarError(f"column {name} has nulls", where, "fill or reject those rows")
    return table


def _lacks(values: pa.ChunkedArray, field: pa.Field) -> bool:
    if values.null_count and not field.nullable:
        return True
    if pa.types.is_list(field.type):
        return _lacks(pc.list_flatten(values), field.type.value_field)
    if pa.types.is_struct(field.type):
        return any(_lacks(pc.struct_field(values, place), part) for place, part in enumerate(field.type))
    return False


def _write_part(table: pa.Table, path: Path) -> None:
    pq.write_table(
        table.replace_schema_metadata(None),
        path,
        compression="zstd",
        compression_level=1,
        row_group_size=ROWS_PER_GROUP,
        use_dictionary=[
            column.name
            for column in table.schema
            if pa.types.is_string(column.type) and column.name not in _FREE_TEXT
        ],
        write_statistics=[name for name in _SEARCHED if name in table.column_names] or False,
        store_schema=False,
    )


def _parts(path: AnyPath, contract: Table) -> list[Path]:
    folder = Path(path) / contract.name
    parts = sorted(folder.glob("*.parquet"))
    if not parts:
        fix = f"run the stage that makes it: nightjar rebuild {paths.stage_of(Path(path))}".rstrip()
        raise NightjarError("no such table", folder, fix)
    for part in parts:
        check_input(part)
    return parts


@contextlib.contextmanager
def _reading(parts: Sequence[Path]) -> Iterator[None]:
    """Name in one line the part that cannot be read: Arrow's own message may not."""
    try:
        yield
    except UNREADABLE as error:
        where = parts[0] if len(parts) == 1 else next(filter(_is_damaged, parts), parts[0].parent)
        system_error = from_os_error(error, where) if isinstance(error, OSError) else None
        what = " ".join(str(error).split())[:300]
        raise system_error or NightjarError(f"unreadable ({what})", where, "rebuild it") from None


def _is_damaged(part: Path) -> bool:
    try:
        for _ in pq.ParquetFile(part).iter_batches():
            pass
    except UNREADABLE:
        return True
    return False


def _check_columns(file: Path, contract: Table, columns: Sequence[str] | None = None) -> None:
    """Raise NightjarError if a column that is to be read is not in the file once, or holds another kind of value.

    Arrow gives nulls for a column that is not there, and turns numbers into texts.
    """
    schema = pq.read_schema(file)
    for name in contract.schema.names if columns is None else columns:
        expected = contract.schema.field(name).type
        places = schema.get_all_field_indices(name)
        if len(places) != 1:
            what = f"{len(places) or 'no'} column{'s' * (len(places) > 1)} {name}"
            raise NightjarError(what, file, f"write it with one column {name} of {expected}")
        actual = schema.field(places[0]).type
        if not _same_kind(actual, expected):
            raise NightjarError(f"column {name} is {actual}, not {expected}", file, f"write it as {expected}")


_KINDS = (
    lambda it: pa.types.is_string(it) or pa.types.is_large_string(it) or pa.types.is_string_view(it),
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_timestamp,
)


def _same_kind(actual: pa.DataType, expected: pa.DataType) -> bool:
    """Return true if two types hold the same values, if in another form: another width, or texts as a dictionary."""
    if pa.types.is_dictionary(actual):
        actual = actual.value_type
    if pa.types.is_list(expected):
        lists = pa.types.is_list(actual) or pa.types.is_large_list(actual)
        return lists and _same_kind(actual.value_type, expected.value_type)
    if pa.types.is_struct(expected):
        names = pa.types.is_struct(actual) and [part.name for part in actual] == [
            part.name for part in expected
        ]
        return names and all(
            _same_kind(field.type, it.type) for field, it in zip(actual, expected, strict=True)
        )
    return bool(actual == expected or any(holds(actual) and holds(expected) for holds in _KINDS))


def _dataset(parts: Sequence[Path], contract: Table, columns: Sequence[str] | None) -> Any:
    """The parts of a table as one dataset, after a check of their columns."""
    # It loads pandas, which a process that reads no table does without.
    import pyarrow.dataset as ds

    for part in parts:
        with _reading([part]):
            _check_columns(part, contract, columns)
    return ds.dataset(list(map(str, parts)), schema=contract.schema, format="parquet")


def _table(
    parts: Sequence[Path], contract: Table, columns: list[str] | None, where: pc.Expression | None = None
) -> pa.Table:
    dataset = _dataset(parts, contract, columns)
    with _reading(parts):
        table = dataset.to_table(columns=columns, filter=where, use_threads=False)
    return _without_nulls(table, contract, parts[0] if len(parts) == 1 else parts[0].parent)


def read(
    path: AnyPath, contract: Table, columns: list[str] | None = None, where: pc.Expression | None = None
) -> pa.Table:
    """The table `contract.name` of the artifact at `path`, its parts in the order of their names.

    Raises NightjarError if the table is missing or damaged, lacks a column or a value, or has columns of another kind.
    """
    return _table(_parts(path, contract), contract, columns, where)


def read_rows(path: AnyPath, contract: Table, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """`read` as a list of dictionaries; for tables that fit in memory as Python objects."""
    rows: list[dict[str, Any]] = read(path, contract, columns).to_pylist()
    return rows


def column_names(path: AnyPath, contract: Table) -> list[str]:
    """Names of the columns in the table's first part."""
    part = _parts(path, contract)[0]
    with _reading([part]):
        names: list[str] = pq.read_schema(part).names
    return names


def among(contract: Table, column: str, values: Iterable[Any]) -> pc.Expression:
    """A filter for `read`: the rows that have one of `values` in `column`. Without any value no row has one."""
    return pc.field(column).isin(pa.array(list(dict.fromkeys(values)), contract.schema.field(column).type))


def batches(path: AnyPath, contract: Table, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The table's record batches one after another, for tables too large to hold."""
    parts = _parts(path, contract)
    dataset = _dataset(parts, contract, columns)
    with _reading(parts):
        for batch in dataset.to_batches(columns=columns, use_threads=False):
            _without_nulls(pa.Table.from_batches([batch]), contract, parts[0].parent)
            yield batch


def part_rows(path: Path, contract: Table) -> dict[str, int]:
    """The number of rows of every part of the table, by the part's name; reads the footers only."""
    parts = _parts(path, contract)
    with _reading(parts):
        return {part.stem: pq.read_metadata(part).num_rows for part in parts}


def read_part(path: Path, contract: Table, part: str, columns: list[str] | None = None) -> pa.Table:
    """One part of the table, where parts are tasks."""
    file = path / contract.name / f"{part}.parquet"
    if not file.is_file():
        raise NightjarError("no such part", file, "rebuild the artifact")
    return _table([file], contract, columns)


def read_rejected(path: AnyPath) -> pa.Table:
    """The refused rows of the artifact at `path`."""
    return read_file(Path(path) / REJECTED_FILE, REJECTED)
