"""DVC's lock of a repository: whoever holds it may hash files and write dvc.lock."""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Self

import zc.lockfile
from dvc.lock import LockBase, LockError

# From the root of a repository.
FILE = Path(".dvc/tmp/lock")
# DVC tries the lock every half second. Stages that begin or end together would wait for one another again and again.
TRY_SECONDS = 0.02


class RepositoryLock(LockBase):
    """DVC's lock of a repository. It is tried more often than by DVC, for `seconds` or without end."""

    def __init__(self, path: Path, seconds: float | None = None) -> None:
        super().__init__(str(path))
        self._path, self._seconds = str(path), seconds
        self._file: zc.lockfile.LockFile | None = None

    def lock(self) -> None:
        """Take the lock. Raises LockError."""
        Path(self._path).parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        while self._file is None:
            try:
                self._file = zc.lockfile.LockFile(self._path)
            except zc.lockfile.LockError:
                if self._seconds is not None and time.monotonic() - began > self._seconds:
                    raise LockError("another DVC process is using the repository") from None
                time.sleep(TRY_SECONDS)

    def unlock(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def is_locked(self) -> bool:
        """Whether this object holds the lock."""
        return self._file is not None

    def __enter__(self) -> Self:
        self.lock()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unlock()
