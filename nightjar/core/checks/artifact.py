"""One artifact as it is on disk, compared with its contracts and the facts of the stage that made it.

Its folders' names say which tables it holds (contracts name the tables). A column that the schema says has
no nulls cannot hold any in Parquet, so that where the schemas are equal only keys and ranged columns are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nightjar.core import contracts
from nightjar.core.checks.finding import MOST_ROWS, Collector, Finding
from nightjar.core.contracts import REJECTED, TOKENS, TOKENS_FILE, Table
from nightjar.core.files import FILE, kind
from nightjar.core.tables import REJECTED_FILE, UNREADABLE

ROWS = ("rows_in", "rows_out", "rows_rejected")

# The tables of a name; where it has several, an artifact's own columns tell which.
_TABLES: dict[str, list[Table]] = {}
for _table in vars(contracts).values():
    if isinstance(_table, Table):
        _TABLES.setdefault(_table.name, []).append(_table)
TOKENS_FOLDER = "tokens"
REBUILD = "rebuild it: nightjar rebuild"


def is_artifact(path: Path) -> bool:
    """Whether the folder was written by nightjar.core.tables, or holds a table of the contracts."""
    return path.is_dir() and ((path / REJECTED_FILE).is_file() or bool(tables_in(path)))


def tables_in(path: Path) -> list[Table]:
    """The contracts of the tables that the artifact at `path` holds, by name."""
    names = sorted(folder.name for folder in path.iterdir() if folder.is_dir()) if path.is_dir() else []
    return [
        _contract(path / name) for name in names if name in _TABLES and any((path / name).glob("*.parquet"))
    ]


def _contract(folder: Path) -> Table:
    known = _TABLES[folder.name]
    first = min(folder.glob("*.parquet"))
    if len(known) > 1 and kind(first) == FILE:
        try:
            columns = pq.read_schema(first).names
        except UNREADABLE:
            return known[0]
        return next((table for table in known if table.schema.names == columns), known[0])
    return known[0]


def parts(path: Path, contract: Table) -> list[Path]:
    return sorted((path / contract.name).glob("*.parquet"))


def inventory(path: Path) -> dict[str, dict[str, int]]:
    """The rows of every table of the artifact at `path`, and the contract's version: what its stage's facts keep.

    Reads footers only. Raises what pyarrow raises for a file that cannot be read.
    """
    found = {
        table.name: {
            "rows": sum(pq.read_metadata(part).num_rows for part in parts(path, table)),
            "version": table.version,
        }
        for table in tables_in(path)
    }
    if (path / REJECTED_FILE).is_file():
        rejected = pq.read_metadata(path / REJECTED_FILE).num_rows
        found[REJECTED.name] = {"rows": rejected, "version": REJECTED.version}
    if (path / TOKENS_FOLDER / TOKENS_FILE).is_file():
        with pa.memory_map(str(path / TOKENS_FOLDER / TOKENS_FILE)) as source:
            reader = pa.ipc.open_file(source)
            batches = (reader.get_batch(at).num_rows for at in range(reader.num_record_batches))
            found[TOKENS_FOLDER] = {"rows": sum(batches)}
    return found


def check_kinds(path: Path) -> list[Finding]:
    """The files of the artifact at `path` that are not ordinary ones; a read from them could wait for ever."""
    files = (path / REJECTED_FILE, *sorted(path.glob("*/*.parquet")), path / TOKENS_FOLDER / TOKENS_FILE)
    return [
        Finding("readable", path.as_posix(), "", f"{file.relative_to(path).as_posix()} is {here}", REBUILD)
        for file in files
        if (here := kind(file)) not in ("", FILE)
    ]


def check_tables(path: Path) -> list[Finding]:
    """Schema, nulls, allowed values, ranges and keys of every table of the artifact at `path`, streaming."""
    found: list[Finding] = []
    for table in tables_in(path):
        found += _check_table(path, table)
    names = {folder.name for folder in path.iterdir() if folder.is_dir() and any(folder.glob("*.parquet"))}
    for name in sorted(names - _TABLES.keys()):
        found.append(
            Finding("contract", path.as_posix(), name, "there is no such table", "remove the folder")
        )
    rejected = Collector(path, REJECTED.name)
    if (path / REJECTED_FILE).is_file():
        _same_schema(rejected, path / REJECTED_FILE, REJECTED)
    else:
        rejected.add("contract", f"{REJECTED_FILE} is missing", REBUILD)
    return found + rejected.findings() + _check_tokens(path)


def _check_table(path: Path, contract: Table) -> list[Finding]:
    found = Collector(path, contract.name)
    ruled = {*(contract.allowed or {}), *(contract.ranges or {})}
    columns = [name for name in contract.schema.names if name in ruled or name in contract.key]
    keys = _Keys(contract, found)
    for part in parts(path, contract):
        file = _same_schema(found, part, contract)
        if file is None:
            continue
        try:
            row = 0
            for batch in file.iter_batches(batch_size=65_536, columns=columns, use_threads=False):
                _check_values(found, contract, batch, part.stem, row)
                keys.add(batch)
                row += len(batch)
        except UNREADABLE as error:
            found.add("readable", "a part cannot be read", REBUILD, [_told(part, error)])
        keys.end_of_part(part.stem)
    keys.end()
    return found.findings()


def _same_schema(found: Collector, part: Path, contract: Table) -> pq.ParquetFile | None:
    """The open file if its schema is the contract's; otherwise what differs is reported."""
    try:
        file = pq.ParquetFile(part, memory_map=True)
    except UNREADABLE as error:
        found.add("readable", "a part cannot be read", REBUILD, [_told(part, error)])
        return None
    schema: pa.Schema = file.schema_arrow
    if schema.equals(contract.schema):
        return file
    fix = f"wanted is version {contract.version} of the contract: {REBUILD}"
    if schema.names != contract.schema.names:
        lacks = ", ".join(name for name in contract.schema.names if name not in schema.names)
        more = ", ".join(name for name in schema.names if name not in contract.schema.names)
        told = (
            "; ".join(filter(None, (lacks and f"without {lacks}", more and f"with {more}")))
            or "in another order"
        )
        found.add("schema", f"other columns: {told}", fix, [{"part": part.stem}])
        return None
    for own, wanted in zip(schema, contract.schema, strict=True):
        if own.equals(wanted):
            continue
        if own.nullable and not wanted.nullable and _nulls(found, file, part, contract, own.name):
            continue
        kinds = f"{own.type}{'' if own.nullable else ' not null'}"
        told = f"column {own.name} is {kinds}, not {wanted.type}{'' if wanted.nullable else ' not null'}"
        found.add("schema", told, fix, [{"part": part.stem}])
    return None


def _told(file: Path, error: BaseException) -> dict[str, str]:
    return {"part": file.stem, "error": first_line(error)}


def _nulls(found: Collector, file: pq.ParquetFile, part: Path, contract: Table, column: str) -> bool:
    """Tell of nulls in a column that may have none; whether there are any."""
    names = [*(name for name in contract.key if name != column), column]
    table = file.read(names, use_threads=False)
    missing = pc.is_null(table[column])
    number = pc.sum(missing).as_py() or 0
    if number:
        what = f"column {column} has nulls"
        found.add("nulls", what, "fill or reject those rows", _rows(table, missing, part.stem, 0), number)
    return bool(number)


def _rows(table: Any, mask: Any, part: str, first: int) -> Iterator[dict[str, Any]]:
    """The first rows of a table or batch that a mask chooses, with their places."""
    places = pc.indices_nonzero(mask).slice(0, MOST_ROWS)
    for place, row in zip(places.to_pylist(), table.take(places).to_pylist(), strict=True):
        yield {"part": part, "row": first + place, **row}


def _check_values(found: Collector, contract: Table, batch: pa.RecordBatch, part: str, row: int) -> None:
    rules: list[tuple[str, str, str, pa.Array]] = []
    for name, values in (contract.allowed or {}).items():
        allowed = pa.array(sorted(values), batch.schema.field(name).type)
        wrong = pc.invert(pc.is_in(batch[name], value_set=allowed))
        rules.append(
            ("allowed", f"{name} is not one of {', '.join(sorted(values))}", "mend or reject them", wrong)
        )
    for name, (low, high) in (contract.ranges or {}).items():
        column = batch[name]
        outside = pc.invert(pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high)))
        rules.append(("range", f"{name} is not within {low:g} to {high:g}", "mend or reject them", outside))
    for check, what, fix, mask in rules:
        number = pc.sum(mask).as_py() or 0
        if number:
            found.add(check, what, fix, _rows(batch, mask, part, row), number)


class _Keys:
    """Whether keys are unique: part by part where a column tells the parts apart, in the whole table elsewhere."""

    def __init__(self, contract: Table, found: Collector) -> None:
        self.contract, self.found = contract, found
        self.batches: list[pa.RecordBatch] = []
        self.shards: dict[Any, str] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        if self.contract.key:
            self.batches.append(batch.select(list(self.contract.key)))

    def end_of_part(self, part: str) -> None:
        shard = self.contract.shard
        if shard is None:
            return
        for value in {value for batch in self.batches for value in pc.unique(batch[shard]).to_pylist()}:
            if (other := self.shards.setdefault(value, part)) != part:
                what, fix = f"{shard} is in more than one part", "merge them"
                self.found.add("keys", what, fix, [{shard: value, "parts": f"{other}, {part}"}], 1)
        self.end()

    def end(self) -> None:
        batches, self.batches = self.batches, []
        if not batches:
            return
        key = list(self.contract.key)
        table = pa.Table.from_batches(batches)
        shard = self.contract.shard
        if shard in key and len(key) == 2 and pc.count_distinct(table[shard]).as_py() == 1:
            # One column is far quicker than two.
            other = next(name for name in key if name != shard)
            if pc.count_distinct(table[other], mode="all").as_py() == len(table):
                return
        counts = table.group_by(key, use_threads=False).aggregate([([], "count_all")])
        doubled = counts.filter(pc.greater(counts["count_all"], 1))
        if len(doubled):
            rows = [
                {**{name: row[name] for name in key}, "times": row["count_all"]}
                for row in doubled.slice(0, MOST_ROWS).to_pylist()
            ]
            number = pc.sum(doubled["count_all"]).as_py() - len(doubled)
            what = f"the key {', '.join(key)} occurs more than once"
            self.found.add("keys", what, "keys must be unique", rows, number)


def _check_tokens(path: Path) -> list[Finding]:
    """The one Arrow file that training maps into memory: readable, of its schema, its keys unique."""
    file = path / TOKENS_FOLDER / TOKENS_FILE
    if not file.is_file():
        return []
    found = Collector(path, TOKENS_FOLDER)
    keys = _Keys(Table(TOKENS_FOLDER, 1, TOKENS, key=("side", "task_id", "id")), found)
    try:
        with pa.memory_map(str(file)) as source:
            reader = pa.ipc.open_file(source)
            if not reader.schema.equals(TOKENS):
                found.add("schema", "the columns are not the contract's", REBUILD)
                return found.findings()
            for at in range(reader.num_record_batches):
                keys.add(reader.get_batch(at))
            keys.end()
    except UNREADABLE as error:
        found.add("readable", "the file cannot be read", REBUILD, [_told(file, error)])
    return found.findings()


def check_facts(facts: Mapping[str, Any], outputs: Mapping[str, Path]) -> list[Finding]:
    """The accounts of a stage's facts: rows in = out + rejected, and every table of `outputs` has the rows, and
    the contract's version, that the stage counted when it wrote them.

    `outputs` are the artifacts to check, by the name that the facts have for them. Facts of an older release name
    no tables; then the first rule alone can be held. The form of the facts is that of `stages._runtime.facts.fault`.
    """
    stage = str(facts.get("stage", "facts"))
    rows_in, out, rejected = (facts.get(name, 0) for name in ROWS)
    found = []
    if rows_in != out + rejected:
        what = f"{rows_in:,} rows in, but {out:,} out and {rejected:,} rejected"
        found.append(Finding("accounts", stage, "", what, "the facts were edited, or the stage is at fault"))
    for name, path in outputs.items():
        counted: Mapping[str, Any] | None = (facts.get("tables") or {}).get(name)
        if counted is not None:
            found += _check_inventory(path, counted, rejected)
    return found


def _check_inventory(path: Path, counted: Mapping[str, Any], rejected: int) -> Iterator[Finding]:
    try:
        here = inventory(path)
    except UNREADABLE:
        return  # check_tables names the file
    for name in sorted({*counted, *here}):
        wanted, own = counted.get(name), here.get(name)
        if own is None:
            what = f"the table is gone; its stage wrote {wanted['rows']:,} rows"  # type: ignore[index]
        elif wanted is None:
            what = f"{own['rows']:,} rows in a table that its stage did not write"
        elif own["rows"] != wanted["rows"]:
            what = f"{own['rows']:,} rows on disk, but its stage wrote {wanted['rows']:,}"
        elif own.get("version") != wanted.get("version"):
            what = f"version {wanted.get('version')} of the contract; this release has {own.get('version')}"
            yield Finding("schema", path.as_posix(), name, what, REBUILD)
            continue
        else:
            continue
        yield Finding("accounts", path.as_posix(), name, what, REBUILD)
    if (refused := here.get(REJECTED.name, {"rows": 0})["rows"]) > rejected:
        what = f"{refused:,} rejected rows on disk, but its stage counted {rejected:,}"
        yield Finding("accounts", path.as_posix(), REJECTED.name, what, REBUILD)


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
