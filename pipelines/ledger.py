"""The append-only ledger of nightly evaluations: a folder a run, under a folder a date (UTC).

    data/ledger/date=2026-07-01/20260701T020003Z-1a2b3c/run.parquet        facts of the run, one row
                                                        scores.parquet     every metric with n and interval
                                                        instances.parquet  every instance's scores
                                                        verdicts.parquet   against the last good run

An entry is written under a temporary name, flushed to the disk and renamed: after a kill at any moment it is there
whole or not at all. Nothing here changes or removes an entry; two writers wait for one another.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from stages import contracts, tables
from stages.contracts import Table
from stages.errors import NightjarError
from stages.json_text import NotJson, exact

RUN = "run.parquet"
# The other files of an entry; the run's own row holds their sha256.
TABLES: Mapping[str, Table] = {
    "scores.parquet": contracts.LEDGER_SCORES,
    "instances.parquet": contracts.LEDGER_INSTANCES,
    "verdicts.parquet": contracts.LEDGER_VERDICTS,
}
JSON = ("parameters", "versions", "hardware", "stages", "files")
_LOCK = ".lock"
DAMAGED = "the entry is damaged: restore it from a copy, or move its folder away"

Rows = Sequence[dict[str, Any]]


def append(ledger: Path, facts: Mapping[str, Any], scores: Rows, instances: Rows, verdicts: Rows) -> Path:
    """Add one entry and return its folder.

    `facts` is a row of contracts.LEDGER_RUN without sequence and files, the columns of JSON as objects; its date is
    that of `started`. Raises NightjarError if an entry of that name is there, or rows break their contract; then
    nothing is added.
    """
    run = str(facts["run"])
    folder = ledger / f"date={facts['started']:%Y-%m-%d}"
    target = folder / run
    _make(folder)
    with _alone(ledger):
        for leftover in ledger.glob("date=*/.*.tmp"):  # of a writer that died: the lock is ours
            shutil.rmtree(leftover)
        known = entries(ledger)
        if target.exists() or any(entry["run"] == run for entry in known):
            raise NightjarError("an entry of this name is there", target, "entries are never written again")
        temporary = folder / f".{run}.tmp"
        temporary.mkdir()
        try:
            _fill(temporary, facts, (scores, instances, verdicts), 1 + _last(known))
            _flush(temporary)
            temporary.rename(target)  # fails on a folder that is there, for none is empty
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        _flush(folder)
    return target


def _last(known: Rows) -> int:
    return max((int(entry["sequence"]) for entry in known), default=0)


def _fill(temporary: Path, facts: Mapping[str, Any], filled: Sequence[Rows], sequence: int) -> None:
    """Write the files of an entry; that of the run comes last, with the hashes of the others."""
    hashes = {}
    for (name, contract), rows in zip(TABLES.items(), filled, strict=True):
        tables.write_file(temporary / name, contract, rows)
        hashes[name] = _sha256(temporary / name)
    row = {**facts, "sequence": sequence, "files": hashes}
    row |= {name: json.dumps(row[name], sort_keys=True, ensure_ascii=False) for name in JSON}
    tables.write_file(temporary / RUN, contracts.LEDGER_RUN, [row])
    for path in temporary.iterdir():
        path.chmod(0o444)
        _flush(path)


def _make(folder: Path) -> None:
    """Make the folder, and make sure that its name is on the disk."""
    if folder.is_dir():
        return
    _make(folder.parent)
    folder.mkdir(exist_ok=True)
    _flush(folder.parent)


def _flush(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to the disk now."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _alone(ledger: Path) -> Iterator[None]:
    """Be the only writer; the system lets go of the lock when its holder dies."""
    descriptor = os.open(ledger / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        digest = sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def entries(ledger: Path) -> list[dict[str, Any]]:
    """The facts of every run, in the order in which they were added; `path` is the entry's folder.

    The columns of JSON are objects. A ledger that is not there has no runs. What a killed writer left is passed over.
    Raises NightjarError for an entry that cannot be read.
    """
    found = []
    for path in ledger.glob("date=*/*"):
        if path.name.startswith(".") or not path.is_dir():
            continue
        rows = tables.read_file(path / RUN, contracts.LEDGER_RUN).to_pylist()
        if len(rows) != 1:
            raise NightjarError(f"{len(rows)} rows instead of one", path / RUN, DAMAGED)
        found.append({**rows[0], **{name: _object(rows[0], name, path) for name in JSON}, "path": path})
    return sorted(found, key=lambda entry: int(entry["sequence"]))


def _object(row: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    """A column of JSON as an object; it may hold what the run's own parameters hold, such as an infinity."""
    try:
        value = exact(row[name].encode())
    except NotJson as error:
        raise NightjarError(f"column {name}: {error}", path / RUN, DAMAGED) from None
    if not isinstance(value, dict):
        raise NightjarError(f"column {name} is not a JSON object", path / RUN, DAMAGED)
    return value


def last_good(ledger: Path) -> dict[str, Any] | None:
    """The facts of the last run that was neither worse nor failed."""
    good = [entry for entry in entries(ledger) if entry["state"] == "good"]
    return good[-1] if good else None


def find(ledger: Path, run: str) -> dict[str, Any]:
    """The facts of the run whose name is, or ends in, `run`; `last` is the last one.

    Raises NightjarError unless there is exactly one.
    """
    known = entries(ledger)
    if run == "last" and known:
        return known[-1]
    named = [entry for entry in known if entry["run"] == run] or [
        entry for entry in known if entry["run"].endswith(run)
    ]
    if len(named) != 1:
        what = f"{len(named)} runs are named {run!r}" if named else f"no run {run!r}"
        raise NightjarError(what, ledger, "`nightjar ledger` lists the runs")
    return named[0]


def read(entry: Mapping[str, Any], name: str) -> Any:
    """One of TABLES of an entry, as an Arrow table."""
    return tables.read_file(entry["path"] / name, TABLES[name])


def check(ledger: Path) -> list[str]:
    """What is not as it was written: files that changed or went, runs that are missing in between."""
    found = []
    known = entries(ledger)
    for number, entry in enumerate(known, 1):
        if entry["sequence"] != number:
            found.append(f"{entry['run']}: is run {entry['sequence']}, but {number - 1} stand before it")
            break
    for entry in known:
        for name, digest in entry["files"].items():
            path = entry["path"] / name
            if not path.is_file():
                found.append(f"{entry['run']}: {name} is missing")
            elif _sha256(path) != digest:
                found.append(f"{entry['run']}: {name} was changed")
    return found
