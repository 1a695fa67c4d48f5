"""A child process that does not outlive this one, what it writes, and what identifies a process."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pipelines.process import guard

# Seconds from TERM to KILL. A stage must end within ten.
GRACE = 3.0
# Output is passed on in batches.
BATCH_SECONDS, BATCH_LINES, LONGEST_LINE = 0.5, 200, 65_536
# Popen's arguments for a child whose output is followed.
FOLLOWED: Mapping[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

Lines = Callable[[list[str]], None]
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def identity(pid: int) -> str:
    """A text that no other process has, before or after; empty if there is no process `pid`.

    It consists of the machine's boot and the kernel's tick at which the process started. Neither changes with the
    clock, unlike the time of day that psutil derives from them.
    """
    fields = _stat(pid)
    return f"{_boot()}-{fields[19]}" if fields else ""


def alive(pid: int, identity_text: str) -> bool:
    """Return true if the process with the identity `identity_text` runs. A zombie does not."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in ("Z", "X") and identity(pid) == identity_text


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on (see proc(5)); empty if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return "boot"


class Child(subprocess.Popen[bytes]):
    """`command` in a session and process group of its own, under a guard (guard.py). Popen gets `more`.

    `pid` is the process of the guard, and the number of the group. The whole group gets TERM, and KILL after `grace`
    seconds, when `close` is called or when this process dies for any reason. A process that the command leaves in the
    group is ended too. Used as a context manager, it ends with the block. Raises OSError if no process can be started;
    a command that cannot be started has the exit status 127.

    A process that leaves the group (setsid) is not ended.
    """

    def __init__(
        self,
        command: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        grace: float = GRACE,
        **more: Any,
    ) -> None:
        self._grace = grace
        theirs, self._hold = os.pipe()
        try:
            super().__init__(
                [sys.executable, "-I", "-S", guard.__file__, str(theirs), str(grace), *command],
                cwd=cwd,
                env=environment,
                start_new_session=True,
                pass_fds=[theirs],
                **{"stdin": subprocess.DEVNULL, **more},
            )
        except BaseException:
            os.close(self._hold)
            raise
        finally:
            os.close(theirs)

    def __exit__(self, *_: object) -> None:
        self.close()

    def poll(self) -> int | None:
        """The exit status of the command, 128 + N after signal N; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the group. Raises subprocess.TimeoutExpired."""
        code = super().wait(timeout)
        if code >= 0:
            return code
        # The guard itself was killed. The group keeps its number as long as it has a member.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        return 128 - code

    def close(self) -> int:
        """End the group, wait for it, and close the pipes. Returns the exit status."""
        if self._hold >= 0:
            os.close(self._hold)
            self._hold = -1
        try:
            return self.wait(2 * self._grace + 1)
        except subprocess.TimeoutExpired:  # the guard was stopped (SIGSTOP)
            os.killpg(self.pid, signal.SIGKILL)
            return self.wait()
        finally:
            for stream in (self.stdin, self.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()


class Output:
    """The output of commands: all of it goes to the file `log`, and in batches of lines to `lines`."""

    def __init__(self, log: Path, lines: Lines | None = None) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log, self._lines = log.open("wb", buffering=0), lines
        # The last line that is not empty.
        self.last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    def write(self, lines: list[str]) -> None:
        """Write lines to the log only."""
        with contextlib.suppress(OSError):  # the disk is full: the stage itself fails if it needs space
            self._log.write("".join(line + "\n" for line in lines).encode())

    def show(self, lines: list[str]) -> None:
        """Pass lines on only."""
        if self._lines is not None:
            self._lines(lines)

    def follow(self, child: Child, stop: threading.Event) -> int:
        """Pass on the output of `child` until it ends, or end it when `stop` is set; returns its exit status.

        What the command left running does not end the output: it is read until the command and its group have ended.
        """
        stream, partial, batch = child.stdout, b"", list[str]()
        passed, ended = time.monotonic(), stream is None
        while stream is not None and not ended:
            ended = stop.is_set() or child.poll() is not None  # asked first: what it wrote last is read
            if select.select([stream], [], [], 0.0 if ended else 0.1)[0]:
                data = os.read(stream.fileno(), LONGEST_LINE)
                ended = not data or stop.is_set()
                *complete, partial = (partial + data).split(b"\n")
                batch += map(cleaned, complete)
            if partial and (ended or len(partial) > LONGEST_LINE):
                batch, partial = [*batch, cleaned(partial)], b""
            now = time.monotonic()
            if batch and (ended or now - passed >= BATCH_SECONDS or len(batch) >= BATCH_LINES):
                self._pass_on(batch)
                batch, passed = [], now
        while child.poll() is None and not stop.wait(0.05):
            pass
        return child.close()

    def _pass_on(self, batch: list[str]) -> None:
        self.write(batch)
        if lines := [line for line in batch if line.strip()]:
            self.last = lines[-1].strip()
            self.show(lines)


def cleaned(line: bytes) -> str:
    """A line without colours; of one that was redrawn by carriage returns the last stays."""
    text = _ESCAPES.sub("", line.decode("utf-8", errors="replace")).rstrip("\r")
    return text.rsplit("\r", 1)[-1].rstrip()


def end_group(number: int, identity_text: str, grace: float = GRACE) -> None:
    """End the process group `number`, whose leader has this identity: TERM, and KILL after `grace` seconds."""
    for which in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + grace
        if alive(number, identity_text):
            os.killpg(number, which)
        while alive(number, identity_text) and time.monotonic() < deadline:
            time.sleep(0.05)


def last_line(log: Path) -> str:
    """The last line with text of the log of a process."""
    text = log.read_text(encoding="utf-8", errors="replace").rstrip()
    return " ".join(text.rpartition("\n")[2].split()) or "no output"
