"""Flow runs on the project's Prefect server: its REST API, and which runs have a process."""

from __future__ import annotations

import contextlib
import json
import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from nightjar.core import paths
from nightjar.core.files import own_folder
from nightjar.core.json_text import recorded
from pipelines.process import lock
from pipelines.project.notify import notify

BUSY = (429, 503)


class Api:
    """The API of the server at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url
        # No certificates are read for a server that has none.
        plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client = httpx.Client(base_url=f"{url}/api", trust_env=False, verify=plain)

    def ask(self, path: str, body: Any = None, method: str = "", seconds: float = 10.0) -> Any:
        """The answer to a request, by default GET without a body and POST with one. A busy server is asked again.

        Raises httpx.HTTPError if the server is gone, refuses the request, or does not answer in so many seconds.
        """
        method = method or ("GET" if body is None else "POST")
        deadline = time.monotonic() + seconds
        while True:
            answer = self._client.request(method, path, json=body, timeout=seconds)
            if answer.status_code not in BUSY or time.monotonic() > deadline:
                answer.raise_for_status()
                return answer.json() if answer.content else None
            time.sleep(0.3)


ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
KILLED = {"type": "CRASHED", "name": "Crashed", "message": "its process was killed"}

# A state as the API takes it: type, name and message.
State = dict[str, str]


@contextlib.contextmanager
def marked(root: Path, run: str, kind: str, alone: bool = False) -> Iterator[Callable[[State], None]]:
    """Hold the file of the flow run `run`, of the flow `kind`, in the block, and yield what writes the state in which
    it ends. A process in which the run is `alone` holds the file to its own end: Prefect may still record the run.
    """
    own_folder(root)
    path = root / paths.RUNS / run
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = lock.take(path, {"kind": kind})

    def write_state(state: State) -> None:
        with contextlib.suppress(OSError):
            os.pwrite(descriptor, json.dumps({"kind": kind, "state": state}).encode().ljust(1000), 0)

    try:
        yield write_state
    finally:
        if not alone:
            os.close(descriptor)


def forget(root: Path, run: str) -> None:
    """Remove the file of a flow run that the server has recorded."""
    (root / paths.RUNS / run).unlink(missing_ok=True)


def settle(root: Path, api: Api, deployments: Mapping[str, str] | None = None) -> None:
    """Give every flow run whose process has ended its last state; also the runs of `deployments` (names by ids, such as
    rebuild/project) without a file, whose processes were killed at once. Those that the server does not take remain.
    """
    names = set()
    for path in sorted((root / paths.RUNS).glob("*")):
        names.add(path.name)
        with contextlib.suppress(lock.LockTaken, httpx.HTTPError, OSError):
            known_of = recorded(path)
            os.close(lock.take(path, known_of))
            state = known_of.get("state") or KILLED
            if _set_state(api, path.name, state) and state is KILLED:
                crashed(root, known_of.get("kind", "run"), path.name)
            path.unlink()
    if deployments:
        chosen: dict[str, Any] = {"deployment_id": {"any_": list(deployments)}}
        chosen["state"] = {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}
        for run in api.ask("flow_runs/filter", {"flow_runs": chosen}):
            if run["id"] not in names and _set_state(api, run["id"], KILLED):
                crashed(root, deployments[run["deployment_id"]].partition("/")[0], run["id"])


def crashed(root: Path, kind: str, run: str, message: str = KILLED["message"]) -> None:
    """Notify that a flow run of the flow `kind` was killed."""
    notify(root, {"kind": f"{kind} crashed", "run": run, "message": message})


def _set_state(api: Api, run: str, state: State) -> bool:
    """End a flow run, unless it ended or is unknown; returns whether it did.

    A run that was cancelled gets its own message: Prefect's runner has replaced it.
    """
    try:
        now = api.ask(f"flow_runs/{run}")["state"]
    except httpx.HTTPStatusError as error:
        if error.response.status_code == httpx.codes.NOT_FOUND:
            return False
        raise
    if now["type"] in ENDED and (now["type"] != "CANCELLED" or state["type"] != "CANCELLED"):
        return False
    api.ask(f"flow_runs/{run}/set_state", {"state": state, "force": True})
    return True
