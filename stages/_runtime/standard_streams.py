"""The standard streams of a process: printing that a bad display cannot stop, and log messages.

They are protected once, where the process begins (`protect`).
"""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import os
import select
import sys
from typing import Any

from nightjar.core.display import printable


class _StandardStream(io.FileIO):
    """A descriptor that takes every write: after its first fault, such as a reader that is gone, it is /dev/null."""

    fault: OSError | None = None

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)

    def write(self, data: Any) -> int:
        remaining = memoryview(data).cast("B")
        size = len(remaining)
        while self.fault is None and len(remaining):
            try:
                written = super().write(remaining)
            except OSError as error:
                self.fault = error
                self._discard()
                break
            if written is None:  # a pipe that does not block is full
                select.select([], [self], [])
            else:
                remaining = remaining[written:]
        return size

    def _discard(self) -> None:
        """Give the processes that are started from now on a descriptor that works."""
        with contextlib.suppress(OSError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)


_outputs: dict[str, _StandardStream] = {}


def protect() -> None:
    """Protect this process, and those it starts, from faults of its standard streams. To be called first.

    A closed descriptor becomes /dev/null, so that no file gets its number. Output whose reader is gone, or for which
    the disk has no room, is discarded. A character that the encoding lacks is written as an escape. Streams that
    replace the process's own, as in tests, remain.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif name not in _outputs and _descriptor(stream) == descriptor:
            _outputs[name] = _StandardStream(descriptor)
            setattr(sys, name, _protected(stream, _outputs[name]))


def _descriptor(stream: Any) -> int | None:
    try:
        return int(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None


def _protected(stream: Any, output: _StandardStream) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        # Python's own unbuffered streams have no buffer either.
        output if stream.write_through else io.BufferedWriter(output),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def lost() -> OSError | None:
    """Why part of the standard output could not be written; None if all was, or if its reader chose to leave."""
    sys.stdout.flush()
    fault = _outputs["stdout"].fault if "stdout" in _outputs else None
    return None if fault is None or fault.errno == errno.EPIPE else fault


class _Formatter(logging.Formatter):
    """Log lines as they are, made printable."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record), keep="\n\t")


def log_to_stderr() -> None:
    """Send log messages to standard error, without prefix."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("%(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "httpx2", "openai"):
        logging.getLogger(name).setLevel(logging.WARNING)  # they log every request
