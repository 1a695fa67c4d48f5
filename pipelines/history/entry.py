"""One entry of the ledger: a folder with the facts of a run, three tables, and a manifest that covers all of them.

    run.parquet        facts of the run, one row
    scores.parquet     every metric with n and interval
    instances.parquet  every instance's scores
    verdicts.parquet   against earlier good runs
    manifest.json      sha256 of each of these files, and of the manifest of the entry before

The first versions wrote no manifest. Their entries can be read, and count as damaged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field, TypeAdapter

from nightjar.core import contracts, tables
from nightjar.core.config import Model, checked
from nightjar.core.contracts import Table
from nightjar.core.errors import NightjarError
from nightjar.core.files import flush, sha256_of
from nightjar.core.json_text import read

RUN = "run.parquet"
MANIFEST = "manifest.json"
TABLES: Mapping[str, Table] = {
    "scores.parquet": contracts.LEDGER_SCORES,
    "instances.parquet": contracts.LEDGER_INSTANCES,
    "verdicts.parquet": contracts.LEDGER_VERDICTS,
}
JSON = ("parameters", "versions", "hardware", "stages", "files")
_OBJECT = TypeAdapter(dict[str, Any])
_FIX = "restore it from a copy of the ledger"

Rows = Sequence[dict[str, Any]]
# No other name is ever read as a path.
File = Literal["run.parquet", "scores.parquet", "instances.parquet", "verdicts.parquet"]


class Previous(Model):
    """The entry before this one: its run, its number, and the sha256 of its manifest."""

    run: str
    sequence: int
    sha256: str


class Manifest(Model):
    """The contents of an entry: `files` has the sha256 of every file but the manifest itself."""

    run: str
    sequence: Annotated[int, Field(ge=1)]
    files: dict[File, str]
    previous: Previous | None = None


@dataclass(frozen=True)
class Entry:
    """An entry as it is on disk. `facts` is the row of its run, with the columns of JSON as objects and `path`, its
    folder; `seal` is the sha256 of its manifest. `unreadable` has a line for each file that cannot be read: then
    `facts` or `manifest` is None.
    """

    path: Path
    facts: dict[str, Any] | None
    manifest: Manifest | None
    seal: str
    unreadable: Mapping[str, str]

    @property
    def sequence(self) -> int | None:
        """The number of the entry in its ledger; None if none of its files has it."""
        if self.manifest is not None:
            return self.manifest.sequence
        return None if self.facts is None else int(self.facts["sequence"])

    def damage(self) -> list[str]:
        """A line for each file that differs from what was written; empty for an intact entry."""
        found = dict(self.unreadable)
        hashes: Mapping[Any, str] = self.manifest.files if self.manifest else {}
        for name in (RUN, *TABLES) if self.manifest else ():
            try:
                if sha256_of(self.path / name) != hashes.get(name):
                    found[name] = f"{name} was changed"
            except FileNotFoundError:
                found[name] = f"{name} is missing"
            except OSError as error:
                found[name] = f"{name}: unreadable ({error.strerror})"
        runs = {self.manifest and self.manifest.run, self.facts and self.facts["run"]}
        strange = [f"the folder holds the run {run!r}" for run in runs - {None, self.path.name}]
        return [*sorted(strange), *(found[name] for name in sorted(found))]


def write(
    folder: Path, facts: Mapping[str, Any], filled: Sequence[Rows], sequence: int, previous: Previous | None
) -> None:
    """Write the files of an entry into an empty folder, and flush them to the disk.

    Raises NightjarError if rows break their contract, and OSError.
    """
    for (name, contract), rows in zip(TABLES.items(), filled, strict=True):
        tables.write_file(folder / name, contract, rows)
    row = {**facts, "sequence": sequence, "files": {}}
    row |= {name: json.dumps(row[name], sort_keys=True, ensure_ascii=False) for name in JSON}
    tables.write_file(folder / RUN, contracts.LEDGER_RUN, [row])
    hashes: dict[Any, str] = {name: sha256_of(folder / name) for name in (RUN, *TABLES)}
    manifest = Manifest(run=str(facts["run"]), sequence=sequence, files=hashes, previous=previous)
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")
    for path in folder.iterdir():
        path.chmod(0o444)
        flush(path)


def check_rows(scores: Rows, instances: Rows) -> None:
    """Raise NightjarError if rows break the contract of their table."""
    for (name, contract), rows in zip(TABLES.items(), (scores, instances), strict=False):
        tables.check(contract, pa.Table.from_pylist(list(rows), schema=contract.schema), name)


def load(path: Path) -> Entry:
    """The entry in a folder. A file that cannot be read is listed in `unreadable` and raises nothing."""
    unreadable: dict[str, str] = {}
    facts, manifest, seal = None, None, ""
    try:
        facts = {**_facts(path / RUN), "path": path}
    except NightjarError as error:
        unreadable[RUN] = f"{RUN}: {error.what}"
    try:
        manifest = checked(Manifest, read(path / MANIFEST, _FIX), path / MANIFEST)
        seal = sha256_of(path / MANIFEST)
    except NightjarError as error:
        unreadable[MANIFEST] = f"{MANIFEST}: {error.what}"
    except OSError as error:
        unreadable[MANIFEST] = f"{MANIFEST}: unreadable ({error.strerror})"
    return Entry(path, facts, manifest, seal, unreadable)


def _facts(path: Path) -> dict[str, Any]:
    """The row of a run. Raises NightjarError if there is not exactly one, or it breaks its contract."""
    table = read_table(path, contracts.LEDGER_RUN)
    try:
        (row,) = table.to_pylist()
        return dict(row) | {name: _OBJECT.validate_json(row[name]) for name in JSON}
    except (ValueError, OverflowError) as error:  # no row, or broken JSON, or a time in the year 10,000
        raise NightjarError(f"unreadable ({' '.join(str(error).split())})", path, _FIX) from None


def read_table(path: Path, contract: Table) -> pa.Table:
    """The table in a file of an entry. Raises NightjarError if it is missing, unreadable or breaks its contract."""
    try:
        table = tables.read_file(path, contract)
        table.validate(full=True)
        tables.check(contract, table, path)
    except NightjarError as error:
        raise NightjarError(error.what, path, _FIX) from None
    except Exception as error:  # Arrow has many for bytes that are no Parquet
        raise NightjarError(f"unreadable ({type(error).__name__}: {error})", path, _FIX) from None
    return table
