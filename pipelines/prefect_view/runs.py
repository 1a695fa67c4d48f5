"""What a flow knows of its own run: who started it, and since when it is due.

Import it only where Prefect is installed and told which server to use (see server.use).
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

from prefect.context import FlowRunContext
from prefect.runtime import flow_run
from prefect.states import Cancelled, State
from pydantic import Field

from pipelines.project.notify import notify

# How many stages a flow may run at once. None could start with fewer than one, and the run would never end.
Jobs = Annotated[int, Field(ge=1, le=64)]


def served() -> bool:
    """Whether a deployment started this run: its schedule, or somebody in the UI. Nobody waits for it at a terminal."""
    context = FlowRunContext.get()
    return context is not None and context.flow_run is not None and context.flow_run.deployment_id is not None


def due() -> datetime | None:
    """When the schedule wanted this run; None if it was not the schedule that started it."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None or not context.flow_run.auto_scheduled:
        return None
    return context.flow_run.expected_start_time


def tell(kind: str, message: str | None) -> None:
    """If nobody watches this run, leave a line in the notifications of the project, which is the current folder."""
    if served():
        notify(Path(), {"kind": kind, "run": flow_run.name, "message": message})


def skipped(why: str) -> State[None]:
    """The state of a run that had nothing to do."""
    return Cancelled(name="Skipped", message=why)
