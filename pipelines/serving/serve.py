"""The process behind `nightjar serve`: rebuild and nightly as deployments of the project in the current folder.

    python -m pipelines.serving.serve SETTINGS     SETTINGS is JSON

`nightjar serve` starts it beside the server and starts it again if it ends. Once its deployments are registered, it
writes one line to its output: their names by their ids, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path
from typing import Any

from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.deployments.runner import EntrypointType
from prefect.runner import Runner
from prefect.schedules import Cron
from prefect.settings import PREFECT_API_URL

from nightjar.core import display
from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import load_nightly
from pipelines.prefect_view import mirror
from pipelines.prefect_view.api import Api
from pipelines.prefect_view.flows import nightly, rebuild
from pipelines.prefect_view.show import KILLED
from pipelines.project import places

POLL_SECONDS = 5.0
# Runs at once, the waiting ones among them; each is a process.
MOST_RUNS = 4
# What the runs have, when all is ended, to stop their stages and to record it.
LAST_SECONDS = 5.2


async def serve(root: Path, api: Api, output: int, jobs: int, pull: bool) -> None:
    """Register the deployments, then run what is due until the process is ended."""
    settings = load_nightly(root / PARAMS_FILE)
    schedule = Cron(settings.cron, timezone=settings.timezone)
    # A server may lose count of its runs, and another may serve the same folder: the flows hold locks as well.
    once = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW)
    queue = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.ENQUEUE)
    runner = _Runner(name=root.name, query_seconds=POLL_SECONDS, limit=MOST_RUNS, pause_on_shutdown=False)
    kind: dict[str, Any] = {"entrypoint_type": EntrypointType.MODULE_PATH}
    kind |= {"parameters": {"jobs": jobs}, "concurrency_limit": queue, "tags": [root.name]}
    made = {str(await runner.aadd_flow(rebuild, **kind)): f"rebuild/{root.name}"}
    # The tags of a deployment are those of its runs.
    when = f"{settings.cron} {settings.timezone}"
    kind |= {"parameters": {"jobs": jobs, "pull": pull}, "concurrency_limit": once, "tags": [root.name, when]}
    deployment = str(await runner.aadd_flow(nightly, schedule=schedule, **kind))
    forget_others(api, deployment, when)
    mark_killed(root, api, [*made, deployment])
    ready = json.dumps({**made, deployment: f"nightly/{root.name}"})
    os.write(output, ready.encode() + b"\n")
    os.close(output)
    await runner.start()


def forget_others(api: Api, deployment: str, when: str) -> None:
    """Delete the runs that another schedule than `when` planned and that have not begun.

    Prefect deletes those to come, but the late ones would be made up for.
    """
    wanted = {"deployment_id": {"any_": [deployment]}, "state": {"type": {"any_": ["SCHEDULED"]}}}
    for run in api.ask("flow_runs/filter", {"flow_runs": wanted}):
        if run["auto_scheduled"] and when not in run["tags"]:
            api.ask(f"flow_runs/{run['id']}", method="DELETE")


def mark_killed(root: Path, api: Api, deployments: list[str]) -> None:
    """Mark the runs as crashed that were killed before they had a journal. Others are recorded by mirror.settle."""
    journals = {path.stem for path in (root / places.RUNS).glob("*.jsonl")}
    wanted = {"deployment_id": {"any_": deployments}, "state": {"type": {"any_": ["RUNNING", "CANCELLING"]}}}
    crashed = {"state": {"type": "CRASHED", "name": "Crashed", "message": KILLED}, "force": True}
    for run in api.ask("flow_runs/filter", {"flow_runs": wanted}):
        if run["name"] not in journals:
            api.ask(f"flow_runs/{run['id']}/set_state", crashed)


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
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what Prefect and the runs print goes to the log
    asked = json.loads(sys.argv[1])
    server = Api(str(PREFECT_API_URL.value()).removesuffix("/api"))
    # A run that was killed holds the only slot of its deployment, and none that could settle it would begin.
    mirror.settle(Path.cwd(), server.url)
    asyncio.run(serve(Path.cwd(), server, output, **asked))
