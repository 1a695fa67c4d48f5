"""Locks with one holder at a time: the system releases them when their holder dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from nightjar.core.files import own_folder
from nightjar.core.json_text import recorded

# What to do about a lock that is held: at a terminal, and in the Prefect UI.
WAIT = "wait for it, or give --wait"
WAIT_SERVED = "start this run again once it has ended"


class LockTaken(Exception):
    """Another process or thread holds the lock file; `holder` is what it wrote there, empty if it cannot be read."""

    def __init__(self, holder: Mapping[str, Any]) -> None:
        super().__init__(holder)
        self.holder = holder


class LockHeld(NightjarError):
    """Another process or thread holds the lock, and `wait` was not set."""


class WaitStopped(Exception):
    """The wait for a lock was stopped."""


def take(path: Path, facts: Mapping[str, str]) -> int:
    """Take the lock file `path`, and write `facts`, this process and the time to it. Never waits.

    Returns a descriptor. The lock is held until it is closed, here and in all processes that inherited it. Raises
    Taken, and OSError.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileExistsError(errno.EEXIST, "not an ordinary file", str(path))
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({**facts, "pid": os.getpid(), "since": now}).encode())
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise LockTaken(recorded(path)) from None
        raise
    return descriptor


def rebuild_lock(
    root: Path, wait: bool = False, stop: threading.Event | None = None, fix: str = WAIT
) -> AbstractContextManager[None]:
    """Hold the rebuild lock of the project at `root`: see `locked`."""
    return locked(root, paths.REBUILD_LOCK, "a rebuild", wait, stop, fix)


@contextlib.contextmanager
def locked(
    root: Path,
    name: Path,
    what: str,
    wait: bool = False,
    stop: threading.Event | None = None,
    fix: str = WAIT,
) -> Iterator[None]:
    """Hold the lock file `name` under `root` while `what` runs.

    Raises Held, which names the holder, since when, and the `fix`, if another process or thread holds it and `wait` is
    not set, and WaitStopped if `stop` is set while it waits. The file says afterwards who held it last, and since when.
    """
    own_folder(root)
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            descriptor = take(path, {})
            break
        except LockTaken as taken:
            if not wait:
                named = {"pid", "since"} <= taken.holder.keys()
                since = " (process {pid}, since {since})".format_map(taken.holder) if named else ""
                raise LockHeld(f"{what} is running{since}", name, fix) from None
        if stop is not None and stop.is_set():
            raise WaitStopped
        time.sleep(0.2)
    try:
        yield
    finally:
        os.close(descriptor)
