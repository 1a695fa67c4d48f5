"""A child process that does not outlive this one, and what identifies a process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.process import guard

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def identity(pid: int) -> str:
    """A text that no other process has, before or after; empty if there is no process `pid`.

    It consists of the machine's boot and the kernel's tick at which the process started. Neither changes with the
    clock, unlike the time of day that psutil derives from them.
    """
    fields = _stat(pid)
    return f"{_boot()}-{fields[19]}" if fields else ""


def alive(pid: int, known: str) -> bool:
    """Whether the process with the identity `known` runs. A zombie does not."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in ("Z", "X") and identity(pid) == known


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


# Seconds from TERM to KILL. A stage must end within ten.
GRACE = 3.0


class Child(subprocess.Popen[bytes]):
    """`command` in a session and process group of its own, under a guard (guard.py). Popen gets `more`.

    `pid` is the process of the guard, and the number of the group. The whole group gets TERM, and KILL after `grace`
    seconds, when `end` is called or when this process dies for any reason. A process that the command leaves in the
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
        self.end()

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

    def end(self) -> int:
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


def end_group(number: int, known: str, grace: float = GRACE) -> None:
    """End the process group `number`, whose leader has the identity `known`: TERM, and KILL after `grace` seconds."""
    for which in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + grace
        if alive(number, known):
            os.killpg(number, which)
        while alive(number, known) and time.monotonic() < deadline:
            time.sleep(0.05)


def last_line(log: Path) -> str:
    """The last line with text of the log of a process."""
    text = log.read_text(encoding="utf-8", errors="replace").rstrip()
    return " ".join(text.rpartition("\n")[2].split()) or "no output"
