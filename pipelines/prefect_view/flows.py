"""The Prefect flows `rebuild` and `nightly`, which the deployments of `nightjar serve` run.

A flow starts the run as a process of its own, and shows its journal. A run from a terminal is shown by its mirror.
"""

# No `from __future__ import annotations`: Prefect validates the parameters of a flow by its annotations.
import json
import os
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import httpx
from prefect import flow
from prefect.context import FlowRunContext
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL
from prefect.states import State
from pydantic import Field

from pipelines.execution import journal as journals
from pipelines.prefect_view import mirror
from pipelines.prefect_view.api import Api
from pipelines.prefect_view.show import show
from pipelines.process.child import Child
from pipelines.process.signals import at_signals

# How many stages a flow may run at once. None could start with fewer than one, and the run would never end.
Jobs = Annotated[int, Field(ge=1, le=64)]
# From TERM to KILL for a run, which ends its stages first.
GRACE = 7.0
# How long a flow waits for `nightjar serve` to restart its server. What it could not show is shown by the next one.
AWAY = 120.0


@flow(name="rebuild", persist_result=False)
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


@flow(name="nightly", persist_result=False)
def nightly(pull: bool = False, jobs: Jobs = 2, accept: bool = False) -> State[Any]:
    """Evaluate every benchmark again with the current model and data, append to the ledger, and give a verdict.

    With `pull`, what is missing comes from the DVC remote. At most `jobs` stages run at once. With `accept`, later
    nights are compared with this one even if it is worse. The run is Completed if no score is worse than in the last
    good run, else Failed.
    """
    return _run("nightly", {"pull": pull, "jobs": jobs, "accept": accept})


def _run(kind: str, parameters: dict[str, Any]) -> State[Any]:
    """Start a run as a process, and show it; SIGTERM, such as of a runner that cancels, ends it in order."""
    root, name, url = Path.cwd(), str(flow_run.name), str(PREFECT_API_URL.value()).removesuffix("/api")
    mirror.settle(root, url)
    due = _due()
    path = journals.path_of(root, name)
    request = {**parameters, "name": name, "due": due and due.isoformat(), "served": True}
    # -P: a folder `pipelines` of the repository is not taken for this one.
    command = [sys.executable, "-P", "-m", f"pipelines.{kind}.run", json.dumps(request)]
    # Of `nightjar serve`, for itself: stages may import what lies in the repository.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    with Child(command, root, inherited, grace=GRACE) as run:

        def end() -> None:
            threading.Thread(target=run.end, daemon=True).start()

        with at_signals(end):
            while not path.exists() and run.poll() is None:
                time.sleep(0.1)
            journals.append(path, "shown", flow_run=str(flow_run.id), events=0)
            try:
                with mirror.held(path):
                    state = show(Api(url, AWAY), path, lambda: run.poll() is None, end)[1]
            except httpx.HTTPError:
                run.wait()
                raise
    return State.model_validate(state)


def _due() -> datetime | None:
    """When the schedule wanted this run; None if it was not the schedule that started it."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None or not context.flow_run.auto_scheduled:
        return None
    return context.flow_run.expected_start_time
