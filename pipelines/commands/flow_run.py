"""A flow that a command runs in its own process, on the project's Prefect server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from pipelines.commands.console import say
from pipelines.process.signals import at_signals
from pipelines.serving import attend, flow_runs
from pipelines.serving import server as servers
from pipelines.serving.flow_runs import Api

if TYPE_CHECKING:
    from pipelines.run.results import End, Result

# The exit status of a run, by its end.
STATUS = {"completed": 0, "failed": 1, "cancelled": 130, "skipped": 2}
# How long Prefect has for the end of a run: of one that was stopped, and of any other.
STOPPED_SECONDS, LAST_SECONDS = 4.0, 15.0


def run_flow(
    root: Path,
    kind: str,
    parameters: Mapping[str, Any],
    told: Callable[[Result], None],
    ended: Callable[[End], None],
    prepared: Any = None,
    as_json: bool = False,
) -> int:
    """Run the flow `kind` of pipelines.flows; returns the exit status, which is that of its stages.

    `told` gets the results of stages, and `ended` the end of the run, before Prefect has recorded it. `prepared` is
    what the flow need not read again. The server is the one that runs, or one that is started beside the loading of
    Prefect, and ends with the run. Raises NightjarError if there is no server, and what the flow raises.
    """
    servers.require()
    stop, code, over, recorded = threading.Event(), 0, threading.Event(), True

    def late() -> None:
        told_of = f"Prefect has not recorded all of this run: the next one does (kept in {paths.RUNS})"
        say(f"nightjar: {kind}: {told_of}", err=True)

    attended = attend.Attended(root, kind)
    with at_signals(stop.set):
        try:
            attend.be_client(root, attended.url)
            until = "" if attended.stays else " until it ends, afterwards with: nightjar ui"
            say(f"Watch it at {attended.url}{until}", err=as_json)
            from pipelines import (
                flows,  # here, not above: Prefect takes long to load, as the server does meanwhile
            )

            attended.ready()
            flow_runs.settle(root, Api(attended.url))
            if stop.is_set():
                raise KeyboardInterrupt
            number = ("", 0)

            def end(how: End, run: str, tasks: int) -> None:
                nonlocal code, over, number
                ended(how)
                code, number = STATUS[how.state], (run, tasks)
                over = attend.end_soon(code, STOPPED_SECONDS if stop.is_set() else LAST_SECONDS, late)

            begin = lambda run: attended.watch(run, stop.set)  # noqa: E731
            terminal = flows.Terminal(stop, told, end, begin, prepared)
            context = flows.TERMINAL.set(terminal)
            try:
                getattr(flows, kind)(**parameters, return_state=True)
            except BaseException as error:
                if not number[0] and not stop.is_set():  # no stage has begun
                    what = f"the Prefect server did not take the run ({type(error).__name__})"
                    fix = f"see {servers.LOG}, or run `dvc repro`"
                    raise NightjarError(what, attended.url, fix) from error
            finally:
                flows.TERMINAL.reset(context)
            code = code if number[0] else STATUS["cancelled"]
            if terminal.error:
                raise terminal.error
            recorded = flows.drain(attend.LAST_SECONDS) and attended.recorded(*number)
            if recorded:
                flow_runs.forget(root, number[0])
                over.set()
        finally:
            attended.close()
    if not recorded:
        late()
    return code
