"""Checks of artifacts as they are on disk: somebody may have edited, cut off or restored one since it was written.

A contract is enforced while a table is written. The checks hold the finished artifact against its contracts; those of a
stage's outputs also compare it with other artifacts. They only read, and never raise for what they find. Its folders'
names say which tables an artifact holds. Parquet keeps nulls out of a column that must have none, so that where the
schemas are equal only keys and columns with rules are read.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from nightjar.core import contracts as of
from nightjar.core.arguments import AnyPath
from nightjar.core.contracts import REJECTED, TOKENS_FILE, Table
from nightjar.core.errors import NightjarError, first_line
from nightjar.core.files import FILE, check_input, kind
from nightjar.core.rules import BrokenRule, Findings, Keys, broken_values
from nightjar.core.tables import REJECTED_FILE, UNREADABLE

# The counts that the facts of a stage have.
ROWS = ("rows_in", "rows_out", "rows_rejected")
TOKENS_FOLDER = "tokens"
REBUILD = "rebuild it: nightjar rebuild"
# The tables of a name; where it has several, an artifact's own columns show which.
_TABLES: dict[str, list[Table]] = {}
for _table in vars(of).values():
    if isinstance(_table, Table):
        _TABLES.setdefault(_table.name, []).append(_table)


def is_artifact(path: Path) -> bool:
    """Return true for a folder that nightjar.core.tables wrote, or that holds a table of the contracts."""
    return path.is_dir() and ((path / REJECTED_FILE).is_file() or bool(tables_in(path)))


def tables_in(path: Path) -> list[Table]:
    """The contracts of the tables that the artifact at `path` holds, by name."""
    names = sorted(folder.name for folder in path.iterdir() if folder.is_dir()) if path.is_dir() else []
    return [_contract(path / name) for name in names if name in _TABLES and any(_parts(path, name))]


def _parts(path: Path, table: str) -> list[Path]:
    return sorted((path / table).glob("*.parquet"))


def _contract(folder: Path) -> Table:
    contracts, first = _TABLES[folder.name], min(folder.glob("*.parquet"))
    if len(contracts) > 1 and kind(first) == FILE:
        try:
            columns = pq.read_schema(first).names
        except UNREADABLE:
            return contracts[0]
        return next((table for table in contracts if table.schema.names == columns), contracts[0])
    return contracts[0]


def inventory(path: Path) -> dict[str, dict[str, int]]:
    """The rows of every table of the artifact at `path`, and the contract's version: what its stage's facts keep.

    Reads footers only. Raises what pyarrow raises for a file that cannot be read, and NightjarError for a pipe.
    """
    files = [(table, _parts(path, table.name)) for table in tables_in(path)]
    if kind(path / REJECTED_FILE):
        files.append((REJECTED, [path / REJECTED_FILE]))
    for part in (part for _, parts in files for part in parts):
        check_input(part)
    table_facts = {
        table.name: {
            "rows": sum(pq.read_metadata(part).num_rows for part in parts),
            "version": table.version,
        }
        for table, parts in files
    }
    if (path / TOKENS_FOLDER / TOKENS_FILE).is_file():
        with pa.memory_map(str(path / TOKENS_FOLDER / TOKENS_FILE)) as source:
            reader = pa.ipc.open_file(source)
            batches = (reader.get_batch(at).num_rows for at in range(reader.num_record_batches))
            table_facts[TOKENS_FOLDER] = {"rows": sum(batches)}
    return table_facts


def check(path: AnyPath) -> list[BrokenRule]:
    """The findings on the tables of the artifact at `path`, each by itself."""
    findings = Findings(Path(path))
    check_tables(findings)
    return list(findings.values())


def check_tables(findings: Findings) -> None:
    """Schema, allowed values, ranges and keys of every table of the artifact."""
    path = findings.path
    if not is_artifact(path):
        what = "there is no such artifact" if not path.exists() else "no table of the contracts is in it"
        findings.add([BrokenRule("present", "", what, "build it: nightjar rebuild")])
        return
    for contract in tables_in(path):
        keys = Keys(contract)
        ruled = {*(contract.allowed or {}), *(contract.ranges or {}), *contract.key}
        for file in _parts(path, contract.name):
            table = _part(findings, file, contract, [name for name in contract.schema.names if name in ruled])
            if table is not None:
                findings.add(broken_values(contract, table), part=file.stem)
                findings.add(keys.add(table, file.stem))
        findings.add(keys.finish())
    names = {folder.name for folder in path.iterdir() if folder.is_dir() and any(folder.glob("*.parquet"))}
    for name in sorted(names - _TABLES.keys()):
        findings.add([BrokenRule("contract", name, "there is no such table", "remove the folder")])
    if kind(path / REJECTED_FILE):
        _part(findings, path / REJECTED_FILE, REJECTED, [])
    else:
        findings.add([BrokenRule("contract", REJECTED.name, f"{REJECTED_FILE} is missing", REBUILD)])


def _part(findings: Findings, file: Path, contract: Table, columns: list[str]) -> pa.Table | None:
    """Columns of a part whose schema is the contract's; None, with what differs, of another."""
    try:
        check_input(file)
        part = pq.ParquetFile(file, memory_map=True)
        if part.schema_arrow.equals(contract.schema):
            return part.read(columns, use_threads=False)
        has, needs = (schema.to_string().splitlines() for schema in (part.schema_arrow, contract.schema))
        differ = [f"with {it}" for it in has if it not in needs] + [
            f"without {it}" for it in needs if it not in has
        ]
        named = "; ".join(it for it in differ if " -- " not in it) or "in another order"
        check, what = "schema", f"columns differ from version {contract.version} of the contract: {named}"
    except (*UNREADABLE, NightjarError) as error:
        check, what = "readable", f"a part cannot be read: {first_line(error)}"
    findings.add([BrokenRule(check, contract.name, what, REBUILD, rows=({"part": file.stem},))])
    return None
