"""Starts the mirror of a run, and starts it again while the run lasts. Needs no Prefect."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from nightjar.core.files import private_folder
from pipelines.prefect_view import server as servers
from pipelines.project import places

# How long a run that ended waits for its mirror, and one that was stopped.
LAST_SECONDS, STOPPED_SECONDS = 40.0, 2.0
MOST_STARTS = 4
LOG = places.PREFECT / "mirror.log"


class Mirror:
    """The process that shows the journal at `path` in Prefect. `url` is where people watch it; unless it `stays`, its
    server ends with the run.
    """

    def __init__(self, root: Path, path: Path) -> None:
        found = servers.recorded(root)
        port = found.port if found else servers.free_port()
        self.stays = found is not None
        self.url = f"http://{servers.HOST}:{port}"
        self._root, self._path, self._over = root, path.resolve(), threading.Event()
        # -P: a folder `pipelines` of the repository is not taken for this one.
        module = "pipelines.prefect_view.mirror"
        self._command = [sys.executable, "-P", "-m", module, str(port), str(self._path)]
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, daemon=True, name="mirror")
        self._thread.start()

    def _keep(self) -> None:
        with contextlib.suppress(OSError):  # no room on the disk: the run is not shown
            private_folder(self._root / LOG.parent)
            for _ in range(MOST_STARTS):
                with (self._root / LOG).open("ab") as log:
                    # Not under a guard: it records that the run was killed.
                    self._process = subprocess.Popen(
                        self._command,
                        cwd=self._root,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                if self._process.wait() == 0 or self._over.wait(1.0):
                    return

    def end(self, stopped: bool) -> bool:
        """Wait until the run is recorded, but not long; returns whether it is. After a run that was `stopped` the
        mirror is not ended: it needs some seconds more at most.
        """
        self._thread.join(STOPPED_SECONDS if stopped else LAST_SECONDS)
        self._over.set()
        if self._thread.is_alive() and self._process is not None:
            if stopped:
                return True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._thread.join(1.0)
        return not self._path.exists()
