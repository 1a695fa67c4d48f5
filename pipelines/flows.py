"""The Prefect flows `rebuild`, `nightly` and `study`, and the task that runs a stage in each of them.

    from pipelines.flows import rebuild
    rebuild(targets=["index"])

A flow works in the DVC repository of the current folder, from a terminal, from a script, and as a deployment. Prefect
runs the tasks, tries them again, and shows them. Each is submitted once the stages before it in the DVC graph have
ended and it has the memory that it needs. DVC decides what is unchanged, and is the only cache.
"""

# No `from __future__ import annotations`: Prefect validates the parameters of a flow by its annotations.
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from prefect import Flow, flow
from prefect.client.schemas.objects import FlowRun
from prefect.context import FlowRunContext
from prefect.states import State
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import Field

from pipelines.run import rebuild_run
from pipelines.serving import flow_runs
from pipelines.serving.session import Session

# How many stages a flow may run at once. None could start with fewer than one, and the run would never end.
Jobs = Annotated[int, Field(ge=1, le=64)]


class Runner(ThreadPoolTaskRunner[Any]):
    """A thread for each task. Tasks that remain when a flow ends, because it was stopped, end as Cancelled.

    Prefect would let them end as Crashed.
    """

    def cancel_all(self) -> None:
        """Leave the tasks alone: one that begins after a stop ends at once."""


RUNNER: Any = Runner()


def crashed(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Notify that the process of a deployment's run was killed. Called by the runner or worker that had started it."""
    if flow_run.deployment_id:
        flow_runs.crashed(Path.cwd(), flow.name, str(flow_run.id), state.message or "")


@flow(name="rebuild", persist_result=False, task_runner=RUNNER, on_crashed=[crashed])
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
    with (
        Session("rebuild") as session,
        rebuild_run.begun(session, targets or (), jobs, wait, keep_going) as run,
    ):
        session.stages(run)
    return session.state


@flow(name="nightly", persist_result=False, task_runner=RUNNER, on_crashed=[crashed])
def nightly(pull: bool = False, jobs: Jobs = 2, wait: bool = True, accept: bool = False) -> State[Any]:
    """Evaluate every benchmark again with the current model and data, append to the ledger, and give a verdict.

    With `pull`, what is missing comes from the DVC remote. At most `jobs` stages run at once. While a rebuild runs it
    waits, unless `wait` is false. With `accept`, later nights are compared with this one even if it is worse. The run
    is Completed if no score is worse than in the last good run, else Failed.
    """
    from pipelines.nightly import night  # here, not above: Arrow takes long to load

    with Session("nightly") as session:
        session.run_end = night.night(session, pull, jobs, wait, accept, _due())
    return session.state


@flow(name="study", persist_result=False, task_runner=RUNNER, on_crashed=[crashed])
def study(
    settings: list[str],
    benchmark: str | None = None,
    recipe: str | None = None,
    wait: bool = False,
) -> State[Any]:
    """Run the graph at several values of settings ("KEY=V1,V2"), each as a DVC experiment: see `nightjar study`."""
    from pipelines.study import study_points  # here, not above: Arrow takes long to load

    with Session("study") as session:
        session.run_end = study_points.run_study(session, settings, benchmark, recipe, wait)
    return session.state


def _due() -> datetime | None:
    """When the schedule wanted this run; None if it was not the schedule that started it."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None or not context.flow_run.auto_scheduled:
        return None
    return context.flow_run.expected_start_time
