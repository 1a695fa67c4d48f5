"""Files read and worked on by threads, ahead of the one that needs them, in order and within bounds of memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

# Arrow works outside Python's global lock, so that two threads use two cores.
_THREADS = 2
# How much may be read ahead of the reader; a file larger than that is read alone.
_READ_AHEAD_BYTES = 12_000_000


def read_ahead(files: Sequence[Path], work: Callable[[Path], T]) -> Iterator[tuple[Path, int, T]]:
    """Every file with its size in bytes and what `work` makes of it, in the order of `files`."""
    pending: deque[tuple[Path, int, Future[T]]] = deque()
    waiting = deque(files)
    ahead = 0
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="ingest") as pool:
        try:
            while waiting or pending:
                while waiting and (not pending or ahead + file_size(waiting[0]) <= _READ_AHEAD_BYTES):
                    file = waiting.popleft()
                    size = file_size(file)
                    ahead += size
                    pending.append((file, size, pool.submit(work, file)))
                file, size, future = pending.popleft()
                result = future.result()
                del future  # it holds the result
                ahead -= size
                yield file, size, result
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def file_size(file: Path) -> int:
    """The size in bytes; 0 for a file that is not there."""
    try:
        return file.stat().st_size
    except OSError:
        return 0
