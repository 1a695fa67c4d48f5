"""One rebuild and one nightly at a time: locks that the system lets go of when their holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from nightjar.core.errors import NightjarError
from nightjar.core.files import own_folder
from nightjar.core.json_text import parse
from pipelines.project import places

LOCK = places.REBUILD_LOCK
NIGHTLY = places.NIGHTLY_LOCK

# What to do about a lock that is held: at a terminal, and in the Prefect UI.
WAIT = "wait for it, or give --wait"
WAIT_SERVED = "start this run again once it has ended"

# The thread that holds each lock of this process.
_held: dict[Path, int] = {}


class Held(NightjarError):
    """Another process holds the lock, and it was not to be waited for."""


class Stopped(Exception):
    """Whoever waited for a lock was told to stop."""


@contextlib.contextmanager
def rebuild_lock(
    root: Path, wait: bool = False, stop: threading.Event | None = None, fix: str = WAIT
) -> Iterator[None]:
    """Hold the rebuild lock of the project at `root`: see `locked`."""
    with locked(root, LOCK, "a rebuild", wait, stop, fix):
        yield


@contextlib.contextmanager
def locked(
    root: Path,
    name: Path,
    what: str,
    wait: bool = False,
    stop: threading.Event | None = None,
    fix: str = WAIT,
) -> Iterator[None]:
    """Hold the lock file `name` under `root` while `what` runs; the thread that holds it may take it again.

    Raises Held, which names the holder, since when, and the `fix`, if another process or thread holds it and `wait` is
    not set, and Stopped if `stop` is set while it waits. It holds across servers and schedules, wherever the
    same file is seen.
    """
    path = (root / name).resolve()
    if _held.get(path) == threading.get_ident():
        yield
        return
    own_folder(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while not _try(descriptor):
            if not wait:
                raise Held(_holder(descriptor, what), name, fix)
            if stop is not None and stop.is_set():
                raise Stopped
            time.sleep(0.2)
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "since": now}).encode(), 0)
        _held[path] = threading.get_ident()
        try:
            yield
        finally:
            del _held[path]
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int, what: str) -> str:
    try:
        facts = parse(os.pread(descriptor, 1000, 0))
        return f"{what} is running (process {facts['pid']}, since {facts['since']})"
    except (ValueError, KeyError, TypeError):
        return f"{what} is running"
