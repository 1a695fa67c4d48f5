"""The runs of the deployments that `nightjar serve` serves, as lines: one when a run starts and one when it ends.

It asks the Prefect server for their states and needs no Prefect itself.
"""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from typing import Any

SECONDS = 2.0
# Of each answer, the latest first: more runs than end between two questions.
MOST = 50
_ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")

Ask = Callable[[str, Any], Any]


def asking(url: str) -> Ask:
    """A function that asks the API of the server at `url` for a path, with a body if that is not None.

    It raises OSError or ValueError if there is no answer.
    """
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        where, kind = f"{url}/api/{path}", {"content-type": "application/json"}
        request = urllib.request.Request(where, data, kind)  # noqa: S310  the address of the project's own server
        with opener.open(request, timeout=SECONDS) as answer:
            return json.load(answer)

    return ask


class Runs:
    """What has been said of the runs of `deployments`, named as `rebuild/project`, of the server at `url`."""

    def __init__(self, url: str, deployments: Sequence[str], ask: Ask | None = None) -> None:
        self._url = url
        self._ask = ask or asking(url)
        self._names = list(deployments)
        self._flows: dict[str, str] = {}
        self._started: set[str] = set()
        self._ended: set[str] = set()
        self._first = True

    def news(self) -> list[str]:
        """A line for each run that has started or ended since the last call; at the first call, for none that had
        ended before. Empty if the server does not answer.
        """
        try:
            found = self._read()
        except (OSError, ValueError, KeyError, TypeError):
            return []
        lines = [line for run in found for line in self._lines(run)]
        first, self._first = self._first, False
        return [] if first else lines

    def _read(self) -> list[dict[str, Any]]:
        if not self._flows:
            for name in self._names:
                found = self._ask(f"deployments/name/{urllib.parse.quote(name)}", None)
                self._flows[str(found["id"])] = name.partition("/")[0]
        wanted = {
            "deployment_id": {"any_": list(self._flows)},
            "state": {"type": {"any_": ["RUNNING", "CANCELLING", *_ENDED]}},
        }
        body = {"flow_runs": wanted, "sort": "EXPECTED_START_TIME_DESC", "limit": MOST}
        return list(reversed(self._ask("flow_runs/filter", body)))

    def _lines(self, run: dict[str, Any]) -> Iterator[str]:
        name, state = f"{self._flows[run['deployment_id']]} {run['name']}", run["state"]
        over = state["type"] in _ENDED
        if run["id"] not in self._started and (not over or run.get("start_time")):
            self._started.add(run["id"])
            yield f"{name} started: {self._url}/runs/flow-run/{run['id']}"
        if over and run["id"] not in self._ended:
            self._started.add(run["id"])
            self._ended.add(run["id"])
            told = f": {state['message']}" if state.get("message") else ""
            yield f"{name} ended: {state['name']}{told}"
