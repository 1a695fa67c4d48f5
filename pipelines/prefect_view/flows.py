"""The Prefect flows `rebuild` and `nightly`. Each shows a run; none runs a stage.

The mirror of a run from a terminal calls them with the journal of that run (see mirror.py). A deployment of `nightjar
serve` calls them without one: then they start the run as a process of their own.
"""

# No `from __future__ import annotations`: Prefect validates the parameters of a flow by its annotations.
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from prefect import Flow, flow
from prefect.context import FlowRunContext
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.states import State
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner
from pydantic import Field

from pipelines.execution import journal as journals
from pipelines.prefect_view import recorded
from pipelines.prefect_view.show import served, show
from pipelines.process.child import Child
from pipelines.process.signals import at_signals

# How many stages a flow may run at once. None could start with fewer than one, and the run would never end.
Jobs = Annotated[int, Field(ge=1, le=64)]
# From TERM to KILL for a run, which ends its stages first.
GRACE = 7.0

_journal: ContextVar[Path | None] = ContextVar("journal", default=None)
_runner: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=64)


@flow(name="rebuild", persist_result=False, task_runner=_runner)
def rebuild(
    targets: list[str] | None = None,
    jobs: Jobs | None = None,
    wait: bool = False,
    keep_going: bool = True,
) -> State[Any]:
    """Rebuild what changed in the DVC repository of the current folder: `targets` and what they need, or all.

    At most `jobs` stages run at once (by default rebuild.jobs of params.yaml), within the memory and the GPU that
    they need. A failure stops only what depends on it, or all unless `keep_going`. The state's message counts the
    results; it is Completed only if every stage ran or was unchanged. While another rebuild runs it is Skipped, or
    waits with `wait`.
    """
    return _run("rebuild", {"targets": targets, "jobs": jobs, "wait": wait, "keep_going": keep_going})


@flow(name="nightly", persist_result=False, task_runner=_runner)
def nightly(pull: bool = False, jobs: Jobs = 2, wait: bool = False, accept: bool = False) -> State[Any]:
    """Evaluate every benchmark again with the current model and data, append to the ledger, and give a verdict.

    With `pull`, what is missing comes from the DVC remote. At most `jobs` stages run at once. With `accept`, later
    nights are compared with this one even if it is worse. The run is Completed if no score is worse than in the last
    good run, else Failed.
    """
    return _run("nightly", {"pull": pull, "jobs": jobs, "wait": wait, "accept": accept})


FLOWS: dict[str, Flow[..., State[Any]]] = {"rebuild": rebuild, "nightly": nightly}


def flush() -> None:
    """Send the server what is still on its way; call it at the end."""
    APILogHandler().flush()
    EventsWorker.drain_all(timeout=5)


@contextmanager
def showing(path: Path) -> Iterator[None]:
    """In the block, the flows show the journal at `path`."""
    token = _journal.set(path)
    try:
        yield
    finally:
        _journal.reset(token)


def _run(kind: str, parameters: dict[str, Any]) -> State[Any]:
    path = _journal.get()
    if path is None:
        return _served(kind, parameters)
    record = journals.read(path)

    def cancel() -> None:
        if record.alive:
            os.kill(int(record.begin["pid"]), signal.SIGTERM)

    return show(path, lambda: record.alive, cancel)


def _served(kind: str, parameters: dict[str, Any]) -> State[Any]:
    """Start a run as a process, and show it; SIGTERM, such as of a runner that cancels, ends it in order."""
    root = Path.cwd()
    recorded.settle(root)
    due = _due()
    path = journals.path_of(root, str(flow_run.name))
    request = {**parameters, "name": str(flow_run.name), "due": due and due.isoformat(), "served": served()}
    # -P: a folder `pipelines` of the repository is not taken for this one.
    command = [sys.executable, "-P", "-m", f"pipelines.{kind}.run", json.dumps(request)]
    with Child(command, root, os.environ, grace=GRACE) as run:

        def end() -> None:
            threading.Thread(target=run.end, daemon=True).start()

        with at_signals(end):
            while not path.exists() and run.poll() is None:
                time.sleep(0.1)
            state = show(path, lambda: run.poll() is None, end)
    recorded.notify_crash(root, journals.read(path))
    return state


def _due() -> datetime | None:
    """When the schedule wanted this run; None if it was not the schedule that started it."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None or not context.flow_run.auto_scheduled:
        return None
    return context.flow_run.expected_start_time
