"""The lease of the machine's GPU: one stage at a time, over all rebuilds, nightlies and studies of a user, in any
clone.

The lease is a lock on a file in the temporary folder (TMPDIR, else /tmp). The stage's processes inherit it as their
standard input, the one descriptor that DVC and a shell hand on: the kernel holds the lock as long as any of them
lives, whatever becomes of the process that took it, and lets go of it when the last is gone.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from nightjar.core.errors import NightjarError
from nightjar.core.json_text import parse


def lease_file() -> Path:
    """Where this user's lease lies. Raises NightjarError if the folder is somebody else's."""
    folder = Path(tempfile.gettempdir()) / f"nightjar-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise NightjarError("not a folder of this user", folder, "remove it, or set TMPDIR to another folder")
    return folder / "gpu.lock"


class Gpu:
    """The leases that the stages of one run hold; used by several threads."""

    def __init__(self, root: Path, told: Callable[[str, str], None]) -> None:
        """`told` hears of a stage that has to wait, once for each holder: its name, and whom it waits for."""
        self._root = root
        self._told = told
        self._held: dict[str, int] = {}
        self._waits: dict[str, str] = {}
        self._lock = threading.Lock()

    def take(self, stage: str) -> bool:
        """Take the lease for `stage` if it is free; never waits."""
        descriptor = self._locked()
        if isinstance(descriptor, str):
            if self._waits.get(stage) != descriptor:
                self._waits[stage] = descriptor
                self._told(stage, f"waits for the GPU ({descriptor})")
            return False
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        facts = {"stage": stage, "project": str(self._root), "pid": os.getpid(), "since": now}
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps(facts).encode())  # and a stage that reads its input finds the end
        with self._lock:
            self._held[stage] = descriptor
        return True

    def _locked(self) -> int | str:
        """The locked lease, or why it is not to be had."""
        descriptor = None
        try:
            path = lease_file()
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Somebody may have cleared the temporary folder in between: then this file is the lease no more.
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
            told = "its lease was replaced"
        except BlockingIOError:
            told = _holder(descriptor or 0)
        except OSError as error:
            told = f"its lease cannot be taken: {error}"
        if descriptor is not None:
            os.close(descriptor)
        return told

    def descriptor(self, stage: str) -> int | None:
        """What the processes of `stage` are to inherit; None if it holds no lease."""
        with self._lock:
            return self._held.get(stage)

    def release(self, stage: str) -> None:
        """Let go of the lease, if `stage` has it; what it left running goes on holding it."""
        with self._lock:
            descriptor = self._held.pop(stage, None)
        if descriptor is not None:
            os.close(descriptor)


def _holder(descriptor: int) -> str:
    try:
        facts = parse(os.pread(descriptor, 10_000, 0))
        return (
            f"held by {facts['stage']} of {facts['project']}, process {facts['pid']}, since {facts['since']}"
        )
    except (ValueError, KeyError, TypeError):
        return "held by another stage"
