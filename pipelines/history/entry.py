"""One entry of the ledger: a folder with the facts of a run, three tables, and a manifest that covers all of them.

    run.parquet        facts of the run, one row
    scores.parquet     every metric with n and interval
    instances.parquet  every instance's scores
    verdicts.parquet   against earlier good runs
    manifest.json      sha256 of each of these files, and of the manifest of the entry before

Entries of earlier versions have no manifest: the row of the run has the hashes of the other tables, and nothing covers
run.parquet.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from nightjar.core import contracts, tables
from nightjar.core.config import Model, checked
from nightjar.core.contracts import Table
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import NotJson, exact, read

RUN = "run.parquet"
MANIFEST = "manifest.json"
TABLES: Mapping[str, Table] = {
    "scores.parquet": contracts.LEDGER_SCORES,
    "instances.parquet": contracts.LEDGER_INSTANCES,
    "verdicts.parquet": contracts.LEDGER_VERDICTS,
}
JSON = ("parameters", "versions", "hardware", "stages", "files")
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
    folder. `unreadable` has a line for each file that cannot be read: then `facts` or `manifest` is None. `seal` is the
    sha256 of manifest.json, empty without that file; the manifest is then the one that the row of the run implies.
    """

    path: Path
    facts: dict[str, Any] | None
    manifest: Manifest | None
    unreadable: Mapping[str, str]
    seal: str

    @property
    def sequence(self) -> int | None:
        """The number of the entry in its ledger; None if none of its files has it."""
        if self.manifest is not None:
            return self.manifest.sequence
        return None if self.facts is None else int(self.facts["sequence"])

    def damage(self) -> list[str]:
        """A line for each file that differs from what was written; empty for an intact entry."""
        found = dict(self.unreadable)
        runs = {self.manifest and self.manifest.run, self.facts and self.facts["run"]}
        strange = [f"the folder holds the run {run!r}" for run in runs - {None, self.path.name}]
        if self.manifest is None:
            if not found:
                found[MANIFEST] = f"{MANIFEST} is missing"
        else:
            hashes: Mapping[Any, str] = self.manifest.files
            for name in (*TABLES, RUN) if self.seal else TABLES:
                try:
                    if name not in hashes:
                        found[name] = f"{name} has no hash in {MANIFEST if self.seal else RUN}"
                    elif digest(self.path / name) != hashes[name]:
                        found[name] = f"{name} was changed"
                except FileNotFoundError:
                    found[name] = f"{name} is missing"
                except OSError as error:
                    found[name] = f"{name}: unreadable ({error.strerror})"
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
    hashes: dict[Any, str] = {name: digest(folder / name) for name in (RUN, *TABLES)}
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
    facts = manifest = None
    seal = ""
    try:
        facts = {**_facts(path / RUN), "path": path}
    except NightjarError as error:
        unreadable[RUN] = f"{RUN}: {error.what}"
    name = MANIFEST if (path / MANIFEST).exists() else RUN
    try:
        if name == MANIFEST:
            manifest = checked(Manifest, read(path / name, _FIX), path / name)
            seal = digest(path / name)
        elif facts and facts["files"]:
            values = {name: facts[name] for name in ("run", "sequence", "files")}
            manifest = checked(Manifest, values, path / name)
    except NightjarError as error:
        unreadable[name] = f"{name}: {error.what}"
    except OSError as error:
        unreadable[name] = f"{name}: unreadable ({error.strerror})"
    return Entry(path, facts, manifest, unreadable, seal)


def _facts(path: Path) -> dict[str, Any]:
    """The row of a run. Raises NightjarError if there is not exactly one, or it breaks its contract."""
    table = read_table(path, contracts.LEDGER_RUN)
    try:
        rows = table.to_pylist()
    except (ValueError, OverflowError) as error:  # a time in the year 10,000
        raise NightjarError(f"unreadable ({error})", path, _FIX) from None
    if len(rows) != 1:
        raise NightjarError(f"has {len(rows)} rows, not one", path, _FIX)
    row: dict[str, Any] = rows[0]
    for name in JSON:
        try:
            # Exactly as the run had them: an infinity may be among the parameters.
            row[name] = exact(row[name].encode())
        except NotJson as error:
            raise NightjarError(f"unreadable ({name}: {error})", path, _FIX) from None
        if not isinstance(row[name], dict):
            raise NightjarError(f"unreadable ({name} is not an object)", path, _FIX)
    return row


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


def digest(path: Path) -> str:
    """The sha256 of a file. Raises OSError."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def flush(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to the disk now."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
