"""The append-only ledger of nightly evaluations: a folder a run, under a folder a date (UTC).

    data/ledger/date=2026-07-01/20260701T020003Z-1a2b3c/    an entry: see entry.py

An entry is written under a temporary name, flushed to the disk and renamed: after a kill at any moment it is complete
or absent. Nothing here changes or removes an entry; two writers wait for one another. An entry that cannot be read is
skipped with a warning: the others can still be read, and new ones added.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.core.files import flush, own_folder, remove
from pipelines.history import entry as ledger_entry
from pipelines.history.entry import MANIFEST, TABLES, Entry, Previous, Rows, load
from pipelines.project.places import LEDGER_ASIDE as ASIDE

_PROBE_BYTES = 1 << 20

Warn = Callable[[str], object]
_log: Warn = logging.getLogger("nightjar").warning


def append(ledger: Path, facts: Mapping[str, Any], scores: Rows, instances: Rows, verdicts: Rows) -> Path:
    """Add one entry and return its folder.

    `facts` is a row of contracts.LEDGER_RUN without sequence and files, the columns of JSON as objects; its date is
    that of `started`. Raises NightjarError if an entry of that name exists, or rows break their contract, and OSError;
    then nothing is added.
    """
    run = str(facts["run"])
    folder = ledger / f"date={facts['started']:%Y-%m-%d}"
    with _alone(ledger):
        known = _load_all(ledger)
        if any(entry.path.name == run for entry in known):
            raise NightjarError(
                "an entry of this name is there", folder / run, "entries are never written again"
            )
        previous = None
        if known and known[-1].seal and known[-1].sequence:
            last = known[-1]
            previous = Previous(run=last.path.name, sequence=known[-1].sequence, sha256=last.seal)
        # No number of an entry that cannot be read is used again.
        sequence = 1 + max([len(known), *(entry.sequence or 0 for entry in known)])
        with _temporary(folder, run) as temporary:
            ledger_entry.write(temporary, facts, (scores, instances, verdicts), sequence, previous)
            flush(temporary)
            temporary.rename(folder / run)  # fails on a folder that exists, for none is empty
        flush(folder)
    return folder / run


def prepare(ledger: Path) -> None:
    """Make the folder of a ledger, and make sure that an entry can be added to it now.

    Raises NightjarError if it is no folder, cannot be read or written, or the disk is full.
    """
    folder = ledger / f"date={datetime.now(UTC):%Y-%m-%d}"
    try:
        with _alone(ledger):
            with _temporary(folder, "probe") as temporary:
                (temporary / "probe").write_bytes(bytes(_PROBE_BYTES))
                flush(temporary / "probe")
            with contextlib.suppress(OSError):  # it holds entries
                folder.rmdir()
            _load_all(ledger)
    except (OSError, ValueError) as error:
        fix = "mend that, or name another folder as nightly.ledger in params.yaml"
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
        raise NightjarError(what, ledger, "free some space or mend the folder, and run again") from error
    what = f"the entry could not be added ({why}) and is in {path.relative_to(root)}"
    return NightjarError(what, ledger, "the next night adds it, or `nightjar ledger --recover`")


def _one_line(error: Exception) -> str:
    told = error.what if isinstance(error, NightjarError) else getattr(error, "strerror", None) or error
    return " ".join(str(told).split()) or type(error).__name__


def recover(aside: Path, ledger: Path, warn: Warn = _log) -> list[str]:
    """Add the entries of the ledger `aside` to `ledger`, and remove them from `aside`; returns their runs.

    One that is damaged, or whose namesake in `ledger` is, is not touched, with a warning. Raises as `append` does.
    """
    found: list[str] = []
    if aside.resolve() == ledger.resolve():
        return found
    for entry in _load_all(aside):
        # A recovery that was killed may have added it already.
        namesakes = [other for other in _load_all(ledger) if other.path.name == entry.path.name]
        if not all(_intact(one, warn) for one in (entry, *namesakes)):
            continue
        facts = dict(entry.facts or {})
        if not namesakes:
            rows = [read(facts, name).to_pylist() for name in TABLES]
            del facts["path"]
            append(ledger, facts, *rows)
        remove(entry.path)
        found.append(entry.path.name)
    return found


def _make(folder: Path) -> None:
    """Make the folder, and make sure that its name is on the disk."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        flush(folder.parent)


@contextlib.contextmanager
def _temporary(folder: Path, name: str) -> Iterator[Path]:
    """An empty folder under a temporary name in `folder`; what is left of it when the block ends is removed."""
    _make(folder)
    temporary = folder / f".{name}.tmp"
    temporary.mkdir()
    try:
        yield temporary
    finally:
        remove(temporary)


@contextlib.contextmanager
def _alone(ledger: Path) -> Iterator[None]:
    """Be the only writer; the system releases the lock when its holder dies. Removes what a dead writer left."""
    _make(ledger)
    with (ledger / ".lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for leftover in ledger.glob("date=*/.*.tmp"):
            remove(leftover)
        yield


def _load_all(ledger: Path) -> list[Entry]:
    """All entries in the order in which they were added; those whose number is not known come first.

    A ledger that does not exist has none. Raises NightjarError if `ledger` is no folder, or cannot be read.
    """
    try:
        dates = [path for path in ledger.iterdir() if path.name.startswith("date=") and path.is_dir()]
        folders = [path for date in dates for path in date.iterdir() if path.name[0] != "." and path.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        what = f"the ledger cannot be read ({error.strerror})"
        raise NightjarError(what, ledger, "check nightly.ledger in params.yaml") from error
    return sorted(map(load, folders), key=lambda entry: (entry.sequence or 0, entry.path.name))


def entries(ledger: Path, warn: Warn = _log) -> list[dict[str, Any]]:
    """The facts of every run, in the order in which they were added; `path` is the entry's folder.

    The columns of JSON are objects. A ledger that does not exist has no runs. An entry that cannot be read is skipped,
    and `warn` gets a line that names it.
    """
    known = _load_all(ledger)
    for entry in (entry for entry in known if entry.facts is None):
        warn(f"skipped {entry.path}: {'; '.join(entry.unreadable.values())}")
    return [entry.facts for entry in known if entry.facts is not None]


def _intact(entry: Entry, warn: Warn) -> bool:
    """Whether an entry is as it was written, and its tables can be read; if not, `warn` gets a line."""
    found = entry.damage()
    try:
        for name in () if found else TABLES:
            ledger_entry.read_table(entry.path / name, TABLES[name])
    except NightjarError as error:
        found = [f"{Path(error.where).name}: {error.what}"]
    if found:
        warn(f"skipped {entry.path}: {'; '.join(found)}")
    return not found


def good(ledger: Path, warn: Warn = _log) -> Iterator[dict[str, Any]]:
    """The facts of the runs that were neither worse nor failed, the latest first. A damaged entry is skipped."""
    for facts in reversed(entries(ledger, warn)):
        if facts["state"] == "good" and _intact(load(facts["path"]), warn):
            yield facts


def find(ledger: Path, run: str, warn: Warn = _log) -> dict[str, Any]:
    """The facts of the run whose name is, or ends in, `run`; `last` is the last one.

    Raises NightjarError unless there is exactly one.
    """
    known = entries(ledger, warn)
    named = known[-1:] if run == "last" else [entry for entry in known if entry["run"].endswith(run)]
    if len(named) != 1:
        what = f"{len(named)} runs are named {run!r}" if named else f"no run {run!r}"
        raise NightjarError(what, ledger, "`nightjar ledger` lists the runs")
    return named[0]


def read(entry: Mapping[str, Any], name: str) -> Any:
    """One of TABLES of an entry, as an Arrow table. Raises NightjarError if it cannot be read."""
    return ledger_entry.read_table(entry["path"] / name, TABLES[name])


def check(ledger: Path) -> tuple[int, list[str]]:
    """Compare every file of every entry with its hash, and every entry with the hash of it in the next one.

    Returns the number of entries, and a line for each damage. Entries that are missing at the end are not found. Raises
    NightjarError only if `ledger` is no folder, or cannot be read.
    """
    known = _load_all(ledger)
    found = [f"{entry.path.name}: {line}" for entry in known for line in entry.damage()]
    seals = {entry.path.name: entry.seal for entry in known}
    for entry in known:
        before = entry.manifest.previous if entry.manifest else None
        if before and before.run not in seals:
            found.append(f"{before.run}: is missing; {entry.path.name} was added after it")
        elif before and seals[before.run] not in ("", before.sha256):
            found.append(f"{before.run}: {MANIFEST} was changed; {entry.path.name} has another hash of it")
    return len(known), found
