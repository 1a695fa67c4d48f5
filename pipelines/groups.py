"""Process groups: every stage runs in one of its own, is written down while it runs, and is ended as a whole.

`kill -9` of an orchestrator leaves its stages running; the next one finds them written down and ends them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from stages.files import write_text

RUNNING = Path(".nightjar/running")
GRACE = 5.0
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
    """Start `command` in its own session under `cwd` and write its group down in .nightjar/running."""
    folder = cwd / RUNNING
    folder.mkdir(parents=True, exist_ok=True)
    marker = uuid.uuid4().hex
    process = subprocess.Popen(
        list(command), cwd=cwd, env={**environment, MARKER: marker}, start_new_session=True, **popen
    )
    group = Group(process.pid, marker, folder / f"{process.pid}.json")
    facts = {
        "name": name,
        "group": process.pid,
        "marker": marker,
        "started": _started(process.pid),
        "owner": os.getpid(),
        "owner_started": _started(os.getpid()),
    }
    group.record.write_text(json.dumps(facts), encoding="utf-8")
    return process, group


def _started(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0


def members(number: int) -> list[psutil.Process]:
    """The living processes of a group; a zombie is not one."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getpgid(process.pid) == number and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end(group: Group, grace: float = GRACE, lock: Path | None = None) -> None:
    """End a group: TERM, and KILL for what is left after `grace` seconds; then strike it off the list.

    DVC writes dvc.lock in place, under its repository lock. With `lock`, the path of that lock, TERM waits
    up to `grace` seconds for it, so that DVC is never killed in the middle of that file.
    """
    with _held(lock, grace):
        _signal(group.number, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while members(group.number):
        if time.monotonic() > deadline:
            _signal(group.number, signal.SIGKILL)
            deadline = time.monotonic() + grace
        time.sleep(0.05)
    if lock is not None:
        with _held(lock, grace):
            _let_go(lock.with_name("rwlock"), group.number)
    group.record.unlink(missing_ok=True)


def _let_go(path: Path, pid: int) -> None:
    """Take what the ended DVC process `pid` had reserved off DVC's list of files in use.

    DVC does so by itself where the process is gone, but not while it is a zombie that nobody has waited for.
    """
    try:
        reserved = json.loads(path.read_text(encoding="utf-8"))
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
def _held(path: Path | None, seconds: float) -> Iterator[None]:
    """Hold DVC's repository lock, or go on without it when `seconds` have passed."""
    if path is None or not path.parent.is_dir():
        yield
        return
    import zc.lockfile

    deadline = time.monotonic() + seconds
    lock = None
    while lock is None and time.monotonic() < deadline:
        try:
            lock = zc.lockfile.LockFile(str(path))
        except zc.lockfile.LockError:
            time.sleep(0.02)
    try:
        yield
    finally:
        if lock is not None:
            lock.close()


def forget(group: Group) -> None:
    """Strike a group that ended by itself off the list."""
    group.record.unlink(missing_ok=True)


def end_orphans(root: Path, grace: float = GRACE, lock: Path | None = None) -> list[str]:
    """End what an orchestrator that is no more left running; returns the names of what was ended."""
    ended = []
    for record in sorted((root / RUNNING).glob("*.json")):
        try:
            facts = json.loads(record.read_text(encoding="utf-8"))
            group = Group(int(facts["group"]), str(facts["marker"]), record)
            name, started = str(facts["name"]), float(facts["started"])
            owner = (int(facts["owner"]), float(facts["owner_started"]))
        except (ValueError, KeyError, TypeError):
            record.unlink(missing_ok=True)  # killed while it was written: its process had just begun
            continue
        if _is_alive(*owner):
            continue
        if any(_is_ours(process, group, started) for process in members(group.number)):
            end(group, grace, lock)
            ended.append(name)
        forget(group)
    return ended


def _is_alive(pid: int, started: float) -> bool:
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - started) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _is_ours(process: psutil.Process, group: Group, started: float) -> bool:
    """Whether a member of the group was started by us, and is not a later process with a reused number."""
    try:
        if process.pid == group.number and abs(process.create_time() - started) < 1.0:
            return True
        return process.environ().get(MARKER) == group.marker
    except (psutil.Error, OSError):
        return False


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so that everything it started is ended too."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
