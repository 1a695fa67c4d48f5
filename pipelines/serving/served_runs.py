"""The runs of the deployments that `nightjar serve` serves, as lines: one when a run starts and one when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from pipelines.serving.api import Api
from pipelines.serving.marks import ENDED

# Of each answer, the latest first: more runs than end between two questions.
MOST = 50


class Runs:
    """What has been said of the runs of `deployments`, which are names such as `rebuild/project` by their ids."""

    def __init__(self, api: Api, deployments: Mapping[str, str]) -> None:
        self._api = api
        self._deployments = deployments
        self._said: set[tuple[str, bool]] = set()
        self._first = True

    def news(self) -> list[str]:
        """A line for each run that has started or ended since the last call, none at the first. Empty if the server
        does not answer.
        """
        wanted = {
            "deployment_id": {"any_": list(self._deployments)},
            "state": {"type": {"any_": ["RUNNING", "CANCELLING", *ENDED]}},
        }
        body = {"flow_runs": wanted, "sort": "EXPECTED_START_TIME_DESC", "limit": MOST}
        try:
            found = self._api.ask("flow_runs/filter", body)
        except httpx.HTTPError:
            return []
        # By the run's id: it gets another name after its start.
        lines = {key: line for run in reversed(found) for key, line in self._lines(run).items()}
        new = [] if self._first else [line for key, line in lines.items() if key not in self._said]
        self._first = False
        self._said |= lines.keys()
        return new

    def _lines(self, run: dict[str, Any]) -> dict[tuple[str, bool], str]:
        name = f"{self._deployments[run['deployment_id']].partition('/')[0]} {run['name']}"
        state, lines = run["state"], {}
        over = state["type"] in ENDED
        if not over or run.get("start_time"):
            lines[run["id"], False] = f"{name} started: {self._api.url}/runs/flow-run/{run['id']}"
        if over:
            told = f": {state['message']}" if state.get("message") else ""
            lines[run["id"], True] = f"{name} ended: {state['name']}{told}"
        return lines
