"""A small process beside every orchestrator: when that dies, however it dies, it ends what is left of its groups.

It waits for the end of a pipe whose other end the orchestrator alone holds, so the system tells it of any death,
SIGKILL among them. Until then it has imported nothing but a little of the standard library. Should it be killed itself,
the next orchestrator cleans up as it always does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

RUNNING = Path(".nightjar/running")  # places.RUNNING, without the import
# How long a dying orchestrator may take from closing its files to being gone.
DYING_SECONDS = 5.0

_lock = threading.Lock()
_told: set[Path] = set()
_process: subprocess.Popen[bytes] | None = None


def guard(root: Path) -> None:
    """Have the watchdog of this process, started at the first call, look after what runs under `root`."""
    root = root.resolve()
    with _lock:
        for _ in range(2):  # once more if it was killed in between
            watchdog = _running()
            if root in _told or watchdog.stdin is None:
                return
            with contextlib.suppress(BrokenPipeError):
                watchdog.stdin.write(os.fsencode(root) + b"\0")
                watchdog.stdin.flush()
                _told.add(root)


def _running() -> subprocess.Popen[bytes]:
    global _process
    if _process is None or _process.poll() is not None:
        _told.clear()
        _process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return _process


def main(owner: int) -> None:
    """Wait for the end of the process `owner`, then end what it left under the folders that it named."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    named = sys.stdin.buffer.read().split(b"\0")
    roots = [Path(os.fsdecode(name)) for name in named if name]
    deadline = time.monotonic() + DYING_SECONDS
    while os.getppid() == owner and time.monotonic() < deadline:
        time.sleep(0.02)
    left = [root for root in roots if any((root / RUNNING).glob("*.json"))]
    if left:
        from pipelines.process import groups

        for root in left:
            groups.end_orphans(root, lock=root / groups.DVC_LOCK)


if __name__ == "__main__":
    # Run as a file, so that no folder `pipelines` of the repository in which it runs is taken for this one.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    main(int(sys.argv[1]))
