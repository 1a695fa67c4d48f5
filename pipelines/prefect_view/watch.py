"""What stops a flow run from outside: Ctrl-C, SIGTERM, a terminal that is closed, and Cancel in the Prefect UI.

A runner (`nightjar serve`) that is told to cancel sends its run SIGTERM. A run that was started from a terminal has no
runner: nobody acts on its Cancel, so it looks at its own state. Import this where Prefect is told its server.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Iterator
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL

from pipelines.prefect_view import server as servers
from pipelines.process.signals import at_signals

POLL_SECONDS = 1.5

_away = threading.Event()


def away() -> bool:
    """Whether the server does not answer. Ask before a call that is worth no wait, such as an artifact's.

    While a run is on its way the answer is known, and at most a few seconds old.
    """
    if not _watching:
        _look()
    return _away.is_set()


def _look() -> None:
    url = str(PREFECT_API_URL.value()).removesuffix("/api")
    if servers.healthy(url):
        _away.clear()
    else:
        _away.set()


def wait(seconds: float) -> bool:
    """Wait until the server answers; whether it did within so many seconds."""
    deadline = time.monotonic() + seconds
    while away() and time.monotonic() < deadline:
        time.sleep(0.5)
    return not away()


_watching: list[threading.Event] = []


@contextlib.contextmanager
def stopping(stop: threading.Event) -> Iterator[None]:
    """While the block lasts, in a flow run, set `stop` when the run is to stop; the flow then ends in order.

    The handlers stand in front of Prefect's own, which would end the flow before its stages have ended.
    """
    over = threading.Event()
    # With the settings of the flow's own thread, its server's address among them.
    context = contextvars.copy_context()
    asked = (UUID(str(flow_run.id)), stop, over)
    watcher = threading.Thread(target=context.run, args=(_watch, *asked), daemon=True, name="cancel")
    with _signals(stop):
        _away.clear()
        _watching.append(over)
        watcher.start()
        try:
            yield
        finally:
            _watching.remove(over)
            over.set()


def _watch(run: UUID, stop: threading.Event, over: threading.Event) -> None:
    with get_client(sync_client=True) as client:
        while not over.wait(POLL_SECONDS):
            _look()
            if _away.is_set():
                continue
            try:
                state = client.read_flow_run(run).state
            except Exception:  # noqa: S112  it went away just now; the stages go on, and so does this
                continue
            if state is not None and (state.is_cancelling() or state.is_cancelled()):
                stop.set()
                return


@contextlib.contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    with at_signals(stop.set):
        yield
