"""Printing that a bad display cannot stop, printed text that cannot control a terminal, and how numbers are written.

The standard streams of a process are protected once, where it begins (`protect`). Names, model output and log lines are
made printable where they are printed (`printable`); files keep the raw text.
"""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import math
import os
import re
import select
import sys
import threading
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

# Control characters (C0, DEL, C1), marks that change the direction of text, line separators, and halves of characters
# (bytes of a file's name that are not UTF-8).
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\udfff]")


def printable(text: str, keep: str = "") -> str:
    """`text` with every character that could control a terminal or begin another line written as an escape, such as
    `\\x1b` or `\\n`; those in `keep` remain.
    """
    return _UNSAFE.sub(lambda match: _escape(match[0], keep), text)


def _escape(character: str, keep: str) -> str:
    return character if character in keep else character.encode("unicode_escape").decode("ascii")


def printable_json(text: str) -> str:
    """`text`, which is JSON, with the same characters as JSON's own escapes; line ends between its values remain."""
    return _UNSAFE.sub(lambda match: "\n" if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


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


@contextlib.contextmanager
def stdout_kept() -> Iterator[None]:
    """While code runs whose prints are no part of a command's output, such as JSON, they go to standard error.

    `sys.stdout` belongs to the whole process, so only its main thread may replace it.
    """
    main = threading.current_thread() is threading.main_thread()
    with contextlib.redirect_stdout(sys.stderr) if main else contextlib.nullcontext():
        yield


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
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every request


def number(value: float, decimals: int, signed: bool = False) -> str:
    """The value with so many decimals, rounded once and half up by its decimal digits: 26.15 is 26.2, -2.45 is -2.5.

    Zero has no minus sign; `signed` numbers have a plus sign where they are not negative.
    """
    if not math.isfinite(value):
        return str(value)
    rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP) + 0
    return f"{rounded:+f}" if signed else f"{rounded:f}"


def p(value: float) -> str:
    """A p-value with four decimals."""
    return number(value, 4) if value >= 0.0001 else "< 0.0001"


def counted_as(count: int, thing: str) -> str:
    """A count with its noun: "1 stage", "1,234 stages"."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def duration(seconds: float) -> str:
    """Seconds in the largest unit of which there are two or more, such as `95 s`, `12 min` and `3.5 h`."""
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7170 else f"{seconds / 3600:.1f} h"
