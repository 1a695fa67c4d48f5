"""A small process around a command. It ends the command's process group when the pipe from its starter closes.

    python -I -S guard.py DESCRIPTOR GRACE COMMAND...

`Child` starts it in a session of its own (see child.py). The pipe closes when the starter lets go of it, or when the
starter dies for any reason. The exit status is that of the command, 128 + N after signal N, and 127 if the command
cannot be started. If the guard itself is killed, the kernel kills the command. Every stage waits for this module to
load, so it imports little.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
STEP_SECONDS = 0.01


def main(descriptor: int, grace: float, command: list[str]) -> int:
    """Run `command` until it ends or the pipe closes, then end the rest of the group. Returns the exit status."""
    os.set_inheritable(descriptor, False)
    # A handler, because the command would inherit SIG_IGN. TERM to the group must not end the guard.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    child = start(command)
    ended = os.pidfd_open(child)
    select.select([descriptor, ended], [], [])
    if members(child):
        os.killpg(0, signal.SIGTERM)
        end(child, signal.SIGTERM, grace)
        end(child, signal.SIGKILL, grace)
    reaped, status = os.waitpid(child, os.WNOHANG)
    code = os.waitstatus_to_exitcode(status) if reaped else -signal.SIGKILL  # not even KILL ended it
    return code if code >= 0 else 128 - code


def start(command: list[str]) -> int:
    """Start `command` in the group of the guard. The kernel kills it when the guard dies."""
    guard, libc = os.getpid(), ctypes.CDLL(None)
    # TERM waits until the new process has no handler of the guard any more.
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    if child := os.fork():
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        return child
    try:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(128 + signal.SIGKILL)
        for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores the last two
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        os.write(2, f"nightjar: {command[0]}: {error.strerror}; see cmd in dvc.yaml\n".encode())
    finally:
        os._exit(127)


def end(child: int, number: signal.Signals, seconds: float) -> None:
    """Wait until the group has ended. KILL is sent again in each step, for a process may have forked meanwhile."""
    deadline = time.monotonic() + seconds
    while (remaining := members(child)) and time.monotonic() < deadline:
        for pid in remaining if number == signal.SIGKILL else ():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        time.sleep(STEP_SECONDS)


def members(child: int) -> list[int]:
    """The processes of the guard's group that have not ended, and the command, which may have left the group."""
    guard, group, pids = os.getpid(), os.getpgrp(), []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):  # noqa: PTH208 pathlib loads slowly
        try:
            if pid != guard and (pid == child or os.getpgid(pid) == group):
                with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
                    if file.read().rpartition(b") ")[2][:1] not in b"ZX":
                        pids.append(pid)
        except OSError:  # it ended in the meantime
            continue
    return pids


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
