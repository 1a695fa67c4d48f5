"""Accounts of an ingest: files read ahead, rows counted, and refused rows kept with the reason."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from nightjar.benchmarks.task_file import RefusedRow, UnreadableFile
from nightjar.core.errors import NightjarError
from nightjar.core.files import FILE, kind
from nightjar.core.tables import ArtifactWriter

log = logging.getLogger("nightjar")

# Called with the bytes read so far and the bytes in all.
Progress = Callable[[int, int], None]
RAW_FILE_CHARACTERS = 2000


def open_file(file: Path) -> BinaryIO:
    """An ordinary file of a dataset's folder, open for reading. Raises UnreadableFile for anything else."""
    try:
        if (file_kind := kind(file)) != FILE:
            raise UnreadableFile("cannot be opened", file_kind or "no such file")
        return file.open("rb")
    except OSError as error:
        raise UnreadableFile("cannot be opened", error.strerror or "") from None


@dataclass
class Statistics:
    """The outcome of one ingest.

    rows_in = rows_out + rows_rejected, and the counts of `reasons` add up to rows_rejected; a file that could
    not be read at all counts as one row. `left_out` counts entries of a task's head, such as a NaN in its
    list of URLs, that were left out while the task was kept. `bytes` is the size of the files read;
    `lists` has the number of names of each published list, by track and role, and `collection` describes
    what the tasks are (`describe`); both are None for documents. `source` says what documents were
    made of (files, training inputs); None for tasks. `remarks` counts what is odd in rows that were kept, None if
    nothing is.
    """

    tasks: int = 0
    files: int = 0
    files_rejected: int = 0
    rows_in: int = 0
    rows_out: int = 0
    rows_rejected: int = 0
    left_out: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    bytes: int = 0
    lists: dict[str, dict[str, int]] | None = None
    collection: dict[str, Any] | None = None
    source: str | None = None
    remarks: dict[str, int] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Everything counted, for JSON."""
        return asdict(self)

    def facts(self) -> dict[str, Any]:
        """Return the facts of a stage beside the rows: all but the clock."""
        left_out = {"seconds", "rows_in", "rows_out", "rows_rejected"}
        left_out |= {
            name for name in ("lists", "collection", "source", "remarks") if getattr(self, name) is None
        }
        return {name: value for name, value in self.as_dict().items() if name not in left_out}


class Ledger:
    """Keeps the statistics of one ingest while it writes, and passes refused rows on to the artifact."""

    def __init__(self, dataset: str, writer: ArtifactWriter) -> None:
        self.dataset, self._writer = dataset, writer
        self._started = time.monotonic()
        self._reasons: Counter[str] = Counter()
        self._first = ""
        self.statistics = Statistics()

    def refuse(self, file: str, row: RefusedRow) -> None:
        """Keep a refused row."""
        reason = f"{row.reason}: {row.detail}" if row.detail else row.reason
        self._first = self._first or f"{file}: {reason}"
        self._writer.reject(self.dataset, file, reason, row.raw, row.id)
        self._reasons[row.reason] += 1

    def refuse_file(self, file: str, error: UnreadableFile, start: bytes) -> None:
        """Keep the start of a file that cannot be read, warn, and go on; it counts as one row."""
        log.warning("warning: %s is left out: %s", file, error)
        raw = start[: RAW_FILE_CHARACTERS * 4].decode("utf-8", "backslashreplace")[:RAW_FILE_CHARACTERS]
        self.statistics.rows_in += 1
        self.statistics.files_rejected += 1
        self.refuse(file, RefusedRow(error.reason, raw, detail=error.detail))

    def close(self, where: object) -> Statistics:
        """The final statistics. Raises NightjarError if nothing was good, or if a row is unaccounted for."""
        numbers = self.statistics
        numbers.reasons = dict(sorted(self._reasons.items()))
        numbers.rows_rejected = sum(self._reasons.values())
        numbers.seconds = time.monotonic() - self._started
        if not numbers.rows_out:
            read = f"{numbers.files} files, {numbers.rows_in} rows"
            what = f"nothing in it can be used ({read}; first {self._first})"
            raise NightjarError(what, where, "fix the files or give another folder")
        if numbers.rows_in != numbers.rows_out + numbers.rows_rejected:
            what = f"{numbers.rows_in} rows in, {numbers.rows_out} out, {numbers.rows_rejected} rejected"
            raise NightjarError(what, where, "this is a fault of the stage: please report it")
        return numbers


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
    """The size in bytes; 0 for a missing file."""
    try:
        return file.stat().st_size
    except OSError:
        return 0
