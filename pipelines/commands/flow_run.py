"""A flow that a command runs in its own process, on the project's Prefect server."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from pipelines.commands.console import say
from pipelines.process.signals import at_signals
from pipelines.serving import flow_runs, supervisor
from pipelines.serving import server as servers
from pipelines.serving.flow_runs import Api

if TYPE_CHECKING:
    from pipelines.run.results import End, Result
    from pipelines.serving.session import Terminal

# The exit status of a run, by its end.
STATUS = {"completed": 0, "failed": 1, "cancelled": 130, "skipped": 2}
# How long Prefect has for the end of a run: of one that was stopped, and of any other.
STOPPED_SECONDS, LAST_SECONDS = 4.0, 15.0


@contextlib.contextmanager
def flow_run(
    root: Path,
    kind: str,
    listen: Callable[[Result], None],
    ended: Callable[[End], None],
    prepared: Any = None,
    as_json: bool = False,
) -> Iterator[Terminal]:
    """Let the block call the flow `kind` of pipelines.flows as `flow`; `status` is then that of its stages.

    `listen` gets the results of stages, and `ended` the end of the run, before Prefect has recorded it. `prepared` is
    what the flow need not read again. The server is the one that runs, or one that is started beside the loading of
    Prefect, and ends with the run. Raises NightjarError if there is no server, and what the flow raises.
    """
    servers.require()
    stop, ended_soon, recorded, number = threading.Event(), threading.Event(), True, ("", 0)

    def late() -> None:
        line = f"Prefect has not recorded all of this run: the next one does (kept in {paths.RUNS})"
        say(f"nightjar: {kind}: {line}", err=True)

    server = supervisor.Supervisor(root, kind)
    with at_signals(stop.set):
        try:
            supervisor.be_client(root, server.url)
            until = "" if server.stays else " until it ends, afterwards with: nightjar ui"
            say(f"Watch it at {server.url}{until}", err=as_json)
            # Here, not above: Prefect takes long to load, as the server does meanwhile.
            from pipelines import flows
            from pipelines.serving import session

            server.ready()
            supervisor.be_client(root, server.url)
            flow_runs.settle(root, Api(server.url))
            if stop.is_set():
                raise KeyboardInterrupt

            def record_end(how: End, run: str, tasks: int) -> None:
                nonlocal ended_soon, number
                ended(how)
                terminal.status, number = STATUS[how.state], (run, tasks)
                ended_soon = supervisor.end_soon(
                    terminal.status, STOPPED_SECONDS if stop.is_set() else LAST_SECONDS, late
                )

            begin = partial(server.watch, cancel=stop.set)
            terminal = session.Terminal(getattr(flows, kind), stop, listen, begin, record_end, prepared)
            context = session.TERMINAL.set(terminal)
            try:
                with session.temporary_settings(session.PATIENT):
                    yield terminal
            except BaseException as error:
                if not number[0] and not stop.is_set():  # no stage has begun
                    what = f"the Prefect server did not take the run ({type(error).__name__})"
                    fix = f"see {servers.LOG}, or run `dvc repro`"
                    raise NightjarError(what, server.url, fix) from error
            finally:
                session.TERMINAL.reset(context)
            terminal.status = terminal.status if number[0] else STATUS["cancelled"]
            if terminal.error:
                raise terminal.error
            recorded = session.drain(supervisor.LAST_SECONDS) and server.recorded(*number)
            if recorded:
                flow_runs.forget(root, number[0])
                ended_soon.set()
        finally:
            server.close()
    if not recorded:
        late()
