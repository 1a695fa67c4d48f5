"""The process behind `nightjar serve`: Prefect's runner of the flows, for the project in the current folder.

    python -m pipelines.serving.deployments SETTINGS     SETTINGS is JSON

`nightjar serve` starts it beside the server and starts it again if it ends. Once its deployments are registered, it
writes one line to its output: their names, as JSON. What Prefect and the runs print goes to standard error.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.deployments.runner import EntrypointType
from prefect.runner import Runner
from prefect.schedules import Cron
from prefect.settings import PREFECT_API_URL

from nightjar.core.config import PARAMS_FILE
from nightjar.params.drivers import Nightly
from pipelines import flows
from pipelines.serving import flow_runs
from pipelines.serving.flow_runs import Api
from stages._runtime.standard_streams import protect

POLL_SECONDS = 5.0
# Runs at once, the waiting ones among them; each is a process.
MOST_RUNS = 4


def deployed(root: Path, jobs: int, pull: bool) -> list[tuple[Flow[..., Any], dict[str, Any]]]:
    """The flows to deploy for the project at `root`, each with its settings. The tags are also those of its runs."""
    settings = Nightly.load(root / PARAMS_FILE)
    schedule = Cron(settings.cron, timezone=settings.timezone)
    when = f"{settings.cron} {settings.timezone}"
    # A server may lose count of its runs, and another may serve the same folder: the flows hold locks as well.
    once = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW)
    queue = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.ENQUEUE)
    rebuild_settings = {"parameters": {"jobs": jobs}, "concurrency_limit": queue, "tags": [root.name]}
    night = {"parameters": {"jobs": jobs, "pull": pull}, "concurrency_limit": once, "tags": [root.name, when]}
    study = {"concurrency_limit": queue, "tags": [root.name]}
    return [
        (flows.rebuild, rebuild_settings),
        (flows.nightly, night | {"schedule": schedule}),
        (flows.study, study),
    ]


def forget_others(api: Api, deployment: str, when: str) -> None:
    """Delete the runs that another schedule than `when` planned and that have not begun.

    Prefect deletes those to come, but the late ones would be made up for.
    """
    chosen = {"deployment_id": {"any_": [deployment]}, "state": {"type": {"any_": ["SCHEDULED"]}}}
    for run in api.ask("flow_runs/filter", {"flow_runs": chosen}):
        if run["auto_scheduled"] and when not in run["tags"]:
            api.ask(f"flow_runs/{run['id']}", method="DELETE")


def settle(root: Path, api: Api) -> None:
    """Give runs their last state whose processes ended while there was no server, as long as this process lives."""
    while True:
        time.sleep(POLL_SECONDS)
        flow_runs.settle(root, api)


def main(output: int, jobs: int, pull: bool) -> None:
    """Register the deployments, then run what is due until the process is ended."""
    root, api = Path.cwd(), Api(str(PREFECT_API_URL.value()).removesuffix("/api"))
    # As `prefect.serve` does, but with the flows themselves: it imports them from the project's folder, where a package
    # `pipelines` of the project's own comes before this one.
    runner = Runner(name=root.name, query_seconds=POLL_SECONDS, limit=MOST_RUNS, pause_on_shutdown=False)
    names: dict[str, str] = {}
    for flow, settings in deployed(root, jobs, pull):
        key = str(runner.add_flow(flow, entrypoint_type=EntrypointType.MODULE_PATH, **settings))
        names[key] = f"{flow.name}/{root.name}"
        if "schedule" in settings:
            forget_others(api, key, settings["tags"][-1])
    # A run that was killed holds the only slot of its deployment.
    flow_runs.settle(root, api, names)
    threading.Thread(target=settle, args=(root, api), daemon=True, name="settle").start()
    os.write(output, json.dumps(list(names.values())).encode() + b"\n")
    os.close(output)
    asyncio.run(runner.start())


if __name__ == "__main__":
    protect()
    standard = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    main(standard, **json.loads(sys.argv[1]))
