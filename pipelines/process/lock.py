"""Locks with one holder at a time: the system releases them when their holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

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


class Taken(Exception):
    """Somebody else holds the lock file; `holder` is what they wrote to it, and empty if that cannot be read."""

    def __init__(self, holder: Mapping[str, Any]) -> None:
        super().__init__(holder)
        self.holder = holder


class Held(NightjarError):
    """Another process holds the lock, and it was not to be waited for."""


class Stopped(Exception):
    """The wait for a lock was stopped."""


def take(path: Path, facts: Mapping[str, str]) -> int:
    """Take the lock file `path`, and write `facts`, this process and the time to it. Never waits.

    Returns a descriptor. The lock is held until it is closed, here and in all processes that inherited it; whoever
    reads from it finds the end. Raises Taken, and OSError.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The file may have been removed in the meantime, and another made: then that one is the lock.
            if path.exists() and os.fstat(descriptor).st_ino == path.stat().st_ino:
                now = datetime.now().astimezone().isoformat(timespec="seconds")
                os.ftruncate(descriptor, 0)
                os.write(descriptor, json.dumps({**facts, "pid": os.getpid(), "since": now}).encode())
                return descriptor
            os.close(descriptor)
        except BlockingIOError:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise Taken(holder) from None
        except BaseException:
            os.close(descriptor)
            raise


def _holder(descriptor: int) -> Mapping[str, Any]:
    try:
        facts = parse(os.pread(descriptor, 10_000, 0))
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


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
    while True:
        try:
            descriptor = take(path, {})
            break
        except Taken as taken:
            if not wait:
                raise Held(f"{what} is running{_since(taken.holder)}", name, fix) from None
        if stop is not None and stop.is_set():
            raise Stopped
        time.sleep(0.2)
    _held[path] = threading.get_ident()
    try:
        yield
    finally:
        del _held[path]
        os.ftruncate(descriptor, 0)
        os.close(descriptor)


def _since(holder: Mapping[str, Any]) -> str:
    return f" (process {holder['pid']}, since {holder['since']})" if {"pid", "since"} <= holder.keys() else ""
