"""The project's Prefect server for a command: found or started, kept alive, and asked for a Cancel of its run."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from pipelines.process import lock
from pipelines.serving import server as servers
from pipelines.serving.flow_runs import ENDED, Api

# How often a run looks whether its server lives, and whether somebody cancelled the run.
LOOK_SECONDS = 1.5
# A server that this run started, and that gives no answer for so long, is started again.
HANGING_SECONDS = 30.0
# How long the end of a run may take once its last stage has ended.
LAST_SECONDS = 15.0
# How long a server that ends with the run has to record the states of its tasks.
RECORD_SECONDS = 5.0


class Supervisor:
    """The server of the project at `root` for the time of one command, `kind`, which starts one if none runs: at `port`
    if that is free.
    """

    def __init__(self, root: Path, kind: str, port: int = 0) -> None:
        self._root, self._kind = root, kind
        self._process: servers.Process | None = None
        self._closed = threading.Event()
        with self._locked():
            server = servers.recorded(root)
            self.stays = server is not None
            if server is None:
                server, self._process = servers.start(root, servers.free_port(port), kind)
        self._server = server

    @property
    def url(self) -> str:
        """Return the address at which people watch the run."""
        return self._server.url

    @property
    def port(self) -> int:
        return self._server.port

    def ready(self) -> None:
        """Wait until the server answers. Raises NightjarError if it does not, or ended."""
        if self._process is not None:
            servers.wait(self._root, self._server, self._process)
        else:
            servers.find(self._root)

    def watch(self, run: str, cancel: Callable[[], None]) -> None:
        """Keep the server alive from here on, at its port, and call `cancel` if the flow run `run` is cancelled."""
        threading.Thread(target=self._watch, args=(run, cancel), daemon=True, name="server").start()

    def recorded(self, run: str, tasks: int) -> bool:
        """Wait until the server has the last states of the run and of so many of its tasks, but not long."""
        deadline = time.monotonic() + RECORD_SECONDS
        states = {"state": {"type": {"any_": list(ENDED)}}}
        chosen = {"flow_runs": {"id": {"any_": [run]}}, "task_runs": states}
        api = Api(self.url)
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx.HTTPError):
                run_ended = api.ask(f"flow_runs/{run}", seconds=1.0)["state"]["type"] in ENDED
                if run_ended and api.ask("task_runs/count", chosen, seconds=1.0) >= tasks:
                    return True
            time.sleep(0.1)
        return False

    def close(self) -> None:
        """End the server, if the command started it."""
        self._closed.set()
        with self._locked():
            if self._process is not None:
                servers.stop(self._root, self._server)
                self._process.wait()

    def _locked(self) -> contextlib.AbstractContextManager[None]:
        return lock.locked(self._root, paths.SERVER_LOCK, "a start of the server", wait=True)

    def _watch(self, run: str, cancel: Callable[[], None]) -> None:
        api, answered = Api(self.url), time.monotonic()
        while not self._closed.wait(LOOK_SECONDS):
            try:
                state = api.ask(f"flow_runs/{run}", seconds=5.0)["state"]["type"]
                answered = time.monotonic()
                if state in ("CANCELLING", "CANCELLED"):
                    cancel()
            except httpx.HTTPStatusError:
                answered = time.monotonic()
            except httpx.HTTPError:
                with contextlib.suppress(NightjarError, OSError):
                    self.revive(time.monotonic() - answered > HANGING_SECONDS)

    def revive(self, hanging: bool = False) -> None:
        """Start the server again at its port if it ended, or is `hanging`."""
        with self._locked():
            if self._closed.is_set():
                return
            server = servers.recorded(self._root)
            if server is not None and hanging and self._process is not None:
                servers.stop(self._root, server)
                server = None
            if server is None:
                self._server, self._process = servers.start(self._root, self._server.port, self._kind)
                servers.wait(self._root, self._server, self._process)
            elif server != self._server:  # another process started it
                self._server, self._process = server, None


def be_client(root: Path, url: str) -> None:
    """Let Prefect, in this process, be a client of the server at `url`."""
    settings = servers.environment(root, url)
    for name in [name for name in os.environ if name.startswith("PREFECT_")]:
        del os.environ[name]
    os.environ.update((name, it) for name, it in settings.items() if name.startswith("PREFECT_"))
    os.environ.update((name, settings[name]) for name in ("NO_PROXY", "no_proxy", "DO_NOT_TRACK"))
    if "prefect.context" in sys.modules:  # it reads its settings while it is loaded
        from prefect.context import refresh_global_settings_context
        from prefect.logging.configuration import setup_logging

        refresh_global_settings_context()
        setup_logging()


def end_soon(
    status: int, seconds: float = LAST_SECONDS, late: Callable[[], None] = lambda: None
) -> threading.Event:
    """End this process with the exit status in so many seconds, after `late` was called, unless the event that is
    returned is set before.
    """
    cancelled = threading.Event()

    def wait() -> None:
        if not cancelled.wait(seconds):
            with contextlib.suppress(OSError, ValueError):
                late()
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    threading.Thread(target=wait, daemon=True, name="end").start()
    return cancelled
