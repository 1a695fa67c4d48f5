"""The append-only ledger of nightly evaluations: a folder a run, under a folder a date (UTC).

    data/ledger/date=2026-07-01/20260701T020003Z-1a2b3c/run.parquet        facts of the run, one row
                                                        scores.parquet     every metric with n and interval
                                                        instances.parquet  every instance's scores
                                                        verdicts.parquet   against earlier good runs

An entry is written under a temporary name, flushed to the disk and renamed: after a kill at any moment it is complete
or absent. Nothing here changes or removes an entry; two writers wait for one another. An entry that cannot be read is
skipped with a warning: the others can still be read, and new ones added. Entries of earlier versions have a
manifest.json with hashes too, which is not read.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter

from nightjar.core import contracts, tables
from nightjar.core.contracts import Table
from nightjar.core.errors import NightjarError
from nightjar.core.files import flush, own_folder, remove
from nightjar.core.paths import LEDGER_ASIDE as ASIDE

RUN = "run.parquet"
TABLES: Mapping[str, Table] = {
    "scores.parquet": contracts.LEDGER_SCORES,
    "instances.parquet": contracts.LEDGER_INSTANCES,
    "verdicts.parquet": contracts.LEDGER_VERDICTS,
}
# The key among the stages of an entry whose run another harness made; nights are not compared with it.
HARNESS = "harness"
JSON = ("parameters", "versions", "hardware", "stages", "files")
_OBJECT = TypeAdapter(dict[str, Any])
_PROBE_BYTES = 1 << 20

Rows = Sequence[dict[str, Any]]
Warn = Callable[[str], object]
_log: Warn = logging.getLogger("nightjar").warning


def is_harness(facts: Mapping[str, Any]) -> bool:
    """Return true for the facts of an entry that is a run of another harness."""
    return HARNESS in facts["stages"]


def append(ledger: Path, facts: Mapping[str, Any], scores: Rows, instances: Rows, verdicts: Rows) -> Path:
    """Add one entry and return its folder.

    `facts` is a row of contracts.LEDGER_RUN without sequence and files, the columns of JSON as objects; its date is
    that of `started`. Raises NightjarError if an entry of that name exists, or rows break their contract, and OSError;
    then nothing is added.
    """
    place = ledger / f"date={facts['started']:%Y-%m-%d}" / str(facts["run"])
    with _adding(ledger) as temporary:
        folders = _folders(ledger)
        if any(path.name == place.name for path in folders):
            raise NightjarError("an entry of this name is there", place, "entries are never written again")
        # No number of an entry that cannot be read is used again.
        numbers = (entry["sequence"] for entry in entries(ledger, warn=lambda line: None))
        row = {**facts, "sequence": 1 + max([len(folders), *numbers]), "files": {}}
        row |= {name: json.dumps(row[name], sort_keys=True, ensure_ascii=False) for name in JSON}
        tables.write_file(temporary / RUN, contracts.LEDGER_RUN, [row])
        for (name, contract), rows in zip(TABLES.items(), (scores, instances, verdicts), strict=True):
            tables.write_file(temporary / name, contract, rows)
        for file in temporary.iterdir():
            file.chmod(0o444)
            flush(file)
        flush(temporary)
        place.parent.mkdir(exist_ok=True)
        flush(ledger)
        temporary.rename(place)  # fails on a folder that exists, for none is empty
        flush(place.parent)
    return place


@contextlib.contextmanager
def _adding(ledger: Path) -> Iterator[Path]:
    """Be the only writer, with an empty temporary folder; what it holds when the block ends is removed.

    The system releases the lock when its holder dies, and the next writer empties the folder.
    """
    if not ledger.is_dir():
        ledger.mkdir(parents=True, exist_ok=True)
        flush(ledger.parent)
    temporary = ledger / ".new"
    with (ledger / ".lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        remove(temporary)
        temporary.mkdir()
        try:
            yield temporary
        finally:
            remove(temporary)


def prepare(ledger: Path) -> None:
    """Make the folder of a ledger, and make sure that an entry can be added to it now.

    Raises NightjarError if it is no folder, cannot be read or written, or the disk is full.
    """
    try:
        with _adding(ledger) as temporary:
            (temporary / "probe").write_bytes(bytes(_PROBE_BYTES))
            flush(temporary / "probe")
            _folders(ledger)
    except (OSError, ValueError) as error:
        fix = "fix that, or name another folder as nightly.ledger in params.yaml"
        raise NightjarError(f"the ledger cannot be written ({_one_line(error)})", ledger, fix) from error


def append_or_aside(root: Path, ledger: Path, facts: Mapping[str, Any], *rows: Rows) -> NightjarError | None:
    """As `append`, but where that fails the entry is added to the ledger ASIDE of the project at `root`.

    Returns None, or the error with the reason, the place of the entry, and how to add it. Raises NightjarError if it
    could be added to neither.
    """
    try:
        append(ledger, facts, *rows)
        return None
    except Exception as error:  # whatever it is: the scores took hours
        why = _one_line(error)
    try:
        own_folder(root)
        path = append(root / ASIDE, facts, *rows)
    except Exception as error:
        what = f"the entry could not be added ({why}), nor written to {ASIDE} ({_one_line(error)})"
        raise NightjarError(what, ledger, "free some space or fix the folder, and run again") from error
    what = f"the entry could not be added ({why}) and is in {path.relative_to(root)}"
    return NightjarError(what, ledger, "fix that, and run the night again")


def _one_line(error: Exception) -> str:
    text = error.what if isinstance(error, NightjarError) else getattr(error, "strerror", None) or error
    return " ".join(str(text).split()) or type(error).__name__


def entries(ledger: Path, warn: Warn = _log) -> list[dict[str, Any]]:
    """The facts of every run, in the order in which they were added; `path` is the entry's folder.

    The columns of JSON are objects. A ledger that does not exist has no runs. An entry that cannot be read is skipped,
    and `warn` gets a line that names it. Raises NightjarError if `ledger` is no folder, or cannot be read.
    """
    all_facts = []
    for path in _folders(ledger):
        try:
            all_facts.append(_facts(path))
        except NightjarError as error:
            warn(f"skipped {path}: {RUN}: {error.what}")
    return sorted(all_facts, key=lambda entry: (entry["sequence"], entry["run"]))


def good(ledger: Path, warn: Warn = _log) -> Iterator[dict[str, Any]]:
    """The facts of the runs that were neither worse nor failed, the latest first. A damaged entry is skipped."""
    for facts in reversed(entries(ledger, warn)):
        if facts["state"] == "good" and _intact(facts["path"], warn):
            yield facts


def find(ledger: Path, run: str, warn: Warn = _log) -> dict[str, Any]:
    """The facts of the run whose name is, or ends in, `run`; `last` is the last one.

    Raises NightjarError unless there is exactly one.
    """
    all_facts = entries(ledger, warn)
    named = all_facts[-1:] if run == "last" else [entry for entry in all_facts if entry["run"].endswith(run)]
    if len(named) != 1:
        what = f"{len(named)} runs are named {run!r}" if named else f"no run {run!r}"
        raise NightjarError(what, ledger, "`nightjar ledger` lists the runs")
    return named[0]


def read(entry: Mapping[str, Any], name: str) -> Any:
    """One of TABLES of an entry, as an Arrow table. Raises NightjarError if it cannot be read."""
    return _table(entry["path"] / name, TABLES[name])


def check(ledger: Path) -> tuple[int, list[str]]:
    """Read every file of every entry, and compare the last number with the number of entries.

    Returns the number of entries, and a line for each damage. Entries that are missing at the end are not found, nor
    values that were changed. Raises NightjarError only if `ledger` is no folder, or cannot be read.
    """
    folders = sorted(_folders(ledger))
    damage = [f"{path.name}: {line}" for path in folders for line in _damage(path)]
    last = max((entry["sequence"] for entry in entries(ledger, warn=lambda line: None)), default=0)
    if last > len(folders):
        damage.append(f"{last - len(folders)} missing: the last entry has the number {last}")
    return len(folders), damage


def check_rows(scores: Rows, instances: Rows) -> None:
    """Raise NightjarError if rows break the contract of their table."""
    for (name, contract), rows in zip(TABLES.items(), (scores, instances), strict=False):
        tables.check(contract, pa.Table.from_pylist(list(rows), schema=contract.schema), name)


def _folders(ledger: Path) -> list[Path]:
    """The folders of all entries; none if there is no ledger. Raises NightjarError if it cannot be read."""
    try:
        dates = [path for path in ledger.iterdir() if path.name.startswith("date=") and path.is_dir()]
        return [path for date in dates for path in date.iterdir() if path.name[0] != "." and path.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        what = f"the ledger cannot be read ({error.strerror})"
        raise NightjarError(what, ledger, "check nightly.ledger in params.yaml") from error


def _damage(path: Path) -> list[str]:
    """A line for each file of an entry that cannot be read, and for an entry under another name."""
    faults = []
    try:
        if (run := _facts(path)["run"]) != path.name:
            faults.append(f"the folder holds the run {run!r}")
    except NightjarError as error:
        faults.append(f"{RUN}: {error.what}")
    for name, contract in TABLES.items():
        try:
            _table(path / name, contract)
        except NightjarError as error:
            faults.append(f"{name}: {error.what}")
    return faults


def _intact(path: Path, warn: Warn) -> bool:
    """Return whether all of an entry can be read; if not, `warn` gets a line."""
    if faults := _damage(path):
        warn(f"skipped {path}: {'; '.join(faults)}")
    return not faults


def _facts(path: Path) -> dict[str, Any]:
    """The facts of the run in a folder. Raises NightjarError if they cannot be read."""
    table = _table(path / RUN, contracts.LEDGER_RUN)
    try:
        (row,) = table.to_pylist()
        return row | {name: _OBJECT.validate_json(row[name]) for name in JSON} | {"path": path}
    except (ValueError, OverflowError) as error:  # no row, or broken JSON, or a time in the year 10,000
        raise NightjarError(
            f"unreadable ({_one_line(error)})", path / RUN, "restore it from a copy"
        ) from None


def _table(path: Path, contract: Table) -> pa.Table:
    """The table in a file of an entry. Raises NightjarError if it is missing, unreadable or breaks its contract."""
    try:
        table = tables.read_file(path, contract)
        table.validate(full=True)
        tables.check(contract, table, path)
    except NightjarError as error:
        raise NightjarError(error.what, path, "restore it from a copy of the ledger") from None
    except Exception as error:  # Arrow has many for bytes that are no Parquet
        raise NightjarError(
            f"unreadable ({type(error).__name__}: {error})", path, "restore it from a copy"
        ) from None
    return table
