"""A small process around a command: when whoever started it dies, however, or lets go, it ends the command.

It waits for the end of its standard input, a pipe whose other end its starter alone holds. Run as a file, with the
command as its arguments, in a session of its own; it exits as the command does, with 128 + its number after a signal.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

# From TERM to KILL.
GRACE = 2.0


def main(command: list[str]) -> int:
    """Run `command` until its end, or end its whole group at the end of standard input."""
    # A handler, not SIG_IGN: that the command would inherit.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        print(f"nightjar: {command[0]}: {error.strerror}; see cmd in dvc.yaml", file=sys.stderr)
        return 127
    ended = os.pidfd_open(child.pid)
    ready, _, _ = select.select([sys.stdin.fileno(), ended], [], [])
    if ended not in ready:
        os.killpg(0, signal.SIGTERM)
        select.select([ended], [], [], GRACE)
        time.sleep(0.1)  # what the command started may need a moment longer than itself
        os.killpg(0, signal.SIGKILL)
    status = child.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
