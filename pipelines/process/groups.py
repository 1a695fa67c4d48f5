"""Process groups: every stage runs in one of its own, is written down while it runs, and is ended as a whole.

`kill -9` of an orchestrator leaves its stages running: a watchdog ends them (see watchdog.py), and where that was
killed too, the next orchestrator finds them written down and does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from nightjar.core.files import own_folder, write_text
from nightjar.core.json_text import parse
from pipelines.process import watchdog
from pipelines.process.identity import alive, identity

RUNNING = watchdog.RUNNING
# Seconds from TERM to KILL, and how long TERM waits for DVC's lock: together well under the ten that are promised.
GRACE = 3.0
LOCK_SECONDS = 2.0
# DVC's lock of a repository, from its root.
DVC_LOCK = Path(".dvc/tmp/lock")
# Carried by every process of a group, so that a later process with the same number is not taken for it.
MARKER = "NIGHTJAR_GROUP"


@dataclass(frozen=True)
class Group:
    """A process group that was started here: its number, its mark, and the file it is written down in."""

    number: int
    marker: str
    record: Path


def start(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], name: str, **popen: Any
) -> tuple[subprocess.Popen[bytes], Group]:
    """Start `command` in its own session under `cwd` and write its group down in .nightjar/running.

    Written down before it begins, so that a kill in between loses none. Raises OSError, and then nothing runs.
    """
    folder = cwd / RUNNING
    own_folder(cwd)
    folder.mkdir(exist_ok=True)
    marker = uuid.uuid4().hex
    facts = {
        "name": name,
        "group": None,
        "marker": marker,
        "started": "",
        "owner": os.getpid(),
        "owner_started": identity(os.getpid()),
    }
    record = folder / f"{marker}.json"
    watchdog.guard(cwd)
    write_text(record, json.dumps(facts))
    try:
        process = subprocess.Popen(
            list(command), cwd=cwd, env={**environment, MARKER: marker}, start_new_session=True, **popen
        )
    except Exception:  # a signal may come when the process is there already: then its record lets it be found
        record.unlink(missing_ok=True)
        raise
    group = Group(process.pid, marker, record)
    try:
        write_text(record, json.dumps(facts | {"group": process.pid, "started": identity(process.pid)}))
    except BaseException:
        end(group, grace=0.0)
        process.wait()
        raise
    return process, group


def rename(group: Group, name: str) -> None:
    """Have a group that runs stand under another name in the list. Raises OSError."""
    facts = parse(group.record.read_bytes())
    write_text(group.record, json.dumps(facts | {"name": name}))


def find(root: Path, number: int) -> Group:
    """The group with this number as it is written down at `root`; it may not be."""
    for record in (root / RUNNING).glob("*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if (facts := parse(record.read_bytes()))["group"] == number:
                return Group(number, str(facts["marker"]), record)
    return Group(number, "", root / RUNNING / f"{number}.json")


def members(number: int) -> list[psutil.Process]:
    """The living processes of a group; a zombie is not one."""
    return _members({number}).get(number, [])


def _members(numbers: set[int]) -> dict[int, list[psutil.Process]]:
    found: dict[int, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            number = os.getpgid(process.pid)
            if number in numbers and process.status() != psutil.STATUS_ZOMBIE:
                found.setdefault(number, []).append(process)
    return found


def end(group: Group, grace: float = GRACE, lock: Path | None = None) -> bool:
    """End a group: TERM, and KILL for what is left after `grace` seconds; then strike it off the list.

    DVC writes dvc.lock in place, under its repository lock. With `lock`, the path of that lock, TERM waits
    up to LOCK_SECONDS for it, so that DVC is not killed in the middle of that file. False if something in it does
    not even end by KILL (it waits for a device): then the group stays on the list.
    """
    return not _end([group], grace, lock)


def _end(groups: Iterable[Group], grace: float, lock: Path | None) -> set[int]:
    """End groups, all at once; returns the numbers of those that did not end. TERM does not depend on the lock."""
    left = {group.number: group for group in groups}
    with held(lock, min(grace, LOCK_SECONDS)):
        for number in left:
            _signal(number, signal.SIGTERM)
    killed, deadline = False, time.monotonic() + grace
    while living := _members(set(left)):
        if time.monotonic() > deadline:
            if killed:
                break
            for number in living:
                _signal(number, signal.SIGKILL)
            killed, deadline = True, time.monotonic() + GRACE
        time.sleep(0.05)
    if lock is not None:
        with held(lock, LOCK_SECONDS) as had:
            for number in left if had else ():
                _let_go(lock.with_name("rwlock"), number)
    for number, group in left.items():
        if number not in living:
            forget(group)
    return set(living)


def _let_go(path: Path, pid: int) -> None:
    """Take what the ended DVC process `pid` had reserved off DVC's list of files in use.

    DVC does so by itself where the process is gone, but not while it is a zombie that nobody has waited for.
    """
    try:
        reserved = parse(path.read_bytes())
        kept = {
            "read": {
                file: others
                for file, users in reserved.get("read", {}).items()
                if (others := [user for user in users if int(user["pid"]) != pid])
            },
            "write": {
                file: user for file, user in reserved.get("write", {}).items() if int(user["pid"]) != pid
            },
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # there is none, or it has a form that only DVC knows
    if kept != reserved:
        write_text(path, json.dumps(kept))


def _signal(number: int, which: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(number, which)


@contextlib.contextmanager
def held(path: Path | None, seconds: float = LOCK_SECONDS) -> Iterator[bool]:
    """Try for `seconds` to take DVC's repository lock, and hold it in the block; yields whether it was taken.

    Only a caller that has it may write a file of DVC. Where DVC has no folder for its lock, DVC never ran: True.
    """
    if path is None or not path.parent.is_dir():
        yield path is not None
        return
    import zc.lockfile

    deadline = time.monotonic() + seconds
    lock = None
    while lock is None:
        try:
            lock = zc.lockfile.LockFile(str(path))
        except zc.lockfile.LockError:
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.close()


def forget(group: Group) -> None:
    """Strike a group that ended by itself off the list."""
    group.record.unlink(missing_ok=True)


def end_orphans(root: Path, grace: float = GRACE, lock: Path | None = None) -> list[str]:
    """End what an orchestrator that is no more left running; returns the names of what was ended."""
    names: list[str] = []
    found: list[Group] = []
    for record in sorted((root / RUNNING).glob("*.json")):
        try:
            facts = parse(record.read_bytes())
            name, marker, number = str(facts["name"]), str(facts["marker"]), facts["group"]
            started, owner = str(facts["started"]), (int(facts["owner"]), str(facts["owner_started"]))
        except FileNotFoundError:
            continue  # it ended by itself just now
        except (ValueError, KeyError, TypeError):
            record.unlink(missing_ok=True)
            continue
        if alive(*owner):
            continue
        # Without a number the orchestrator died before it could write it down.
        number = _marked(marker) if number is None else int(number)
        group = Group(number or 0, marker, record)
        if number and any(_is_ours(process, group, started) for process in members(number)):
            names.append(name)
            found.append(group)
        else:
            forget(group)
    _end(found, grace, lock)
    return names


def _marked(marker: str) -> int | None:
    """The group of a process that carries the mark."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARKER) == marker:
                return os.getpgid(process.pid)
    return None


def _is_ours(process: psutil.Process, group: Group, started: str) -> bool:
    """Whether a member of the group was started by us, and is not a later process with a reused number."""
    if process.pid == group.number and identity(process.pid) == started:
        return True
    try:
        return bool(process.environ().get(MARKER) == group.marker)
    except (psutil.Error, OSError):
        return False
