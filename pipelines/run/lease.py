"""The lease of the machine's GPU: one stage at a time, of all rebuilds, nightlies and studies of a user.

The lease is a lock on a file in the temporary folder (TMPDIR, else /tmp). The stage's processes inherit it as their
standard input: the kernel holds the lock as long as one of them lives, even if the process that took it has ended.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nightjar.core.errors import NightjarError
from pipelines.process import lock


def lease_file() -> Path:
    """The file of this user's lease. Raises NightjarError if the folder is somebody else's."""
    folder = Path(tempfile.gettempdir()) / f"nightjar-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise NightjarError("not a folder of this user", folder, "remove it, or set TMPDIR to another folder")
    return folder / "gpu.lock"


class Gpu:
    """The leases that the stages of one run hold; used by several threads."""

    def __init__(self, root: Path, told: Callable[[str, str], None]) -> None:
        """`told` is called with the name of a stage that has to wait and the reason, once for each holder."""
        self._root = root
        self._told = told
        self._held: dict[str, int] = {}
        self._waits: dict[str, str] = {}

    def take(self, stage: str) -> bool:
        """Take the lease for `stage` if it is free; never waits."""
        try:
            descriptor = lock.take(lease_file(), {"stage": stage, "project": str(self._root)})
        except (lock.Taken, OSError) as error:
            why = _held_by(error.holder) if isinstance(error, lock.Taken) else f"cannot be taken: {error}"
            if self._waits.get(stage) != why:
                self._waits[stage] = why
                self._told(stage, f"waits for the GPU ({why})")
            return False
        self._held[stage] = descriptor
        return True

    def descriptor(self, stage: str) -> int | None:
        """The descriptor that the processes of `stage` inherit; None if it holds no lease."""
        return self._held.get(stage)

    def release(self, stage: str) -> None:
        """Release the lease, if `stage` has it. Processes that it left running continue to hold it."""
        descriptor = self._held.pop(stage, None)
        if descriptor is not None:
            os.close(descriptor)


def _held_by(holder: Mapping[str, Any]) -> str:
    if not {"stage", "project", "pid", "since"} <= holder.keys():
        return "held by another stage"
    return "held by {stage} of {project}, process {pid}, since {since}".format_map(holder)
