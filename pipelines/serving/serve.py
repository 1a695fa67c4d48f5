"""The process behind `nightjar serve`: rebuild and nightly as deployments of the project in the current folder.

    python -m pipelines.serving.serve < settings.json

`nightjar serve` starts it beside the server and starts it again if it ends. It writes .nightjar/serve.json once its
deployments are registered.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import (
    ConcurrencyLimitConfig,
    ConcurrencyLimitStrategy,
    DeploymentSchedule,
    StateType,
)
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments.runner import EntrypointType
from prefect.exceptions import ObjectNotFound
from prefect.runner import Runner
from prefect.schedules import Cron

from nightjar.core import display
from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import load_nightly
from nightjar.core.files import write_text
from pipelines.prefect_view import mirror, server as servers
from pipelines.prefect_view.flows import nightly, rebuild
from pipelines.project import places
from pipelines.serving import automations

READY = places.DEPLOYMENTS
POLL_SECONDS = 5.0
# Runs at once, the waiting ones among them; each is a process.
MOST_RUNS = 4
# What the runs have, when all is ended, to stop their stages and to say so.
LAST_SECONDS = 5.2


async def serve(root: Path, jobs: int, pull: bool, webhook: str | None) -> None:
    """Register the deployments and the automations, then run what is due until the process is ended."""
    settings = load_nightly(root / PARAMS_FILE)
    schedule = Cron(settings.cron, timezone=settings.timezone)
    # A server may lose count of its runs, and another may serve the same folder: the flows hold locks as well.
    once = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW)
    queue = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.ENQUEUE)
    runner = _Runner(name=root.name, query_seconds=POLL_SECONDS, limit=MOST_RUNS, pause_on_shutdown=False)
    kind: dict[str, Any] = {"tags": [root.name], "entrypoint_type": EntrypointType.MODULE_PATH}
    await runner.aadd_flow(rebuild, parameters={"jobs": jobs}, concurrency_limit=queue, **kind)
    planned = await _planned(root.name)
    made = await runner.aadd_flow(
        nightly, parameters={"jobs": jobs, "pull": pull}, concurrency_limit=once, schedule=schedule, **kind
    )
    await _forget_others(made, planned)
    await automations.set_up(webhook)
    ready = {"pid": os.getpid(), "deployments": [f"{flow.name}/{root.name}" for flow in (rebuild, nightly)]}
    write_text(root / READY, json.dumps(ready) + "\n")
    await runner.start()


async def _planned(name: str) -> list[tuple[str, str | None]]:
    """When the deployment of the nightly runs up to now, as cron and timezone; nothing if there is none."""
    async with get_client() as client:
        try:
            return _times((await client.read_deployment_by_name(f"{nightly.name}/{name}")).schedules)
        except ObjectNotFound:
            return []


def _times(schedules: list[DeploymentSchedule]) -> list[tuple[str, str | None]]:
    return [
        (it.schedule.cron, it.schedule.timezone) for it in schedules if isinstance(it.schedule, CronSchedule)
    ]


async def _forget_others(deployment: UUID, planned: list[tuple[str, str | None]]) -> None:
    """If the schedule is another than was `planned`, delete the runs of the old one that have not begun.

    Prefect deletes those to come, but the late ones would be made up for, of a schedule that is no more.
    """
    async with get_client() as client:
        schedules = (await client.read_deployment(deployment)).schedules
        if planned == _times(schedules):
            return
        runs = await client.read_flow_runs(
            deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[deployment])),
            flow_run_filter=FlowRunFilter(
                state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED]))
            ),
        )
        current = {schedule.id for schedule in schedules}
        for run in runs:
            if run.auto_scheduled and (run.created_by is None or run.created_by.id not in current):
                with contextlib.suppress(ObjectNotFound):
                    await client.delete_flow_run(run.id)


class _Runner(Runner):
    """Lets its runs end by themselves when it is ended: the same signal reached them, and they stop their stages."""

    def handle_sigterm(self, *_: Any) -> None:
        asyncio.get_running_loop().create_task(self._finish())

    async def _finish(self) -> None:
        deadline = time.monotonic() + LAST_SECONDS
        while multiprocessing.active_children() and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        await self.astop()


if __name__ == "__main__":
    display.protect()
    told = json.load(sys.stdin)
    # A run that was killed holds the only slot of its deployment, and none that could settle it would begin.
    recorded.settle(Path.cwd(), mirror.replay)
    asyncio.run(serve(Path.cwd(), told["jobs"], told["pull"], told["webhook"]))
