"""That Prefect's server knows how every run ended, though it, or the run's own process, went away in between.

A run writes itself down in .nightjar/unrecorded when it begins, and how it and its tasks ended when they have. `settle`
compares that with what the server knows, sets right what is missing, and strikes the run off. What the server cannot
be told now is told it by the next run that has one; of a run whose process was killed, that it crashed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from prefect import Task
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import StateType, TaskRun
from prefect.exceptions import Abort, ObjectNotFound, PrefectException
from prefect.states import Running, State

from nightjar.core.files import write_text
from nightjar.core.json_text import parse
from pipelines.prefect_view import watch
from pipelines.process.identity import alive, identity
from pipelines.project import places
from pipelines.project.notify import notify

FOLDER = places.UNRECORDED
KILLED = {"type": "CRASHED", "name": "Crashed", "message": "its process was killed"}
# Events of tasks reach the server's tables a little after they were sent: how long to let them come by themselves.
SECONDS = 5.0
# How long a stopped run waits for a server that is away (any other: servers.AWAY_SECONDS). All of it is to be over in
# ten seconds.
STOPPED_SECONDS = 2.0
_PAGE = 200


@dataclass(frozen=True)
class Ended:
    """How a task of a run ended: its id, name and state."""

    task_run: UUID
    name: str
    state: State[Any]


class Record:
    """The file of the flow run `run` of this process. What the disk has no room for stays unwritten.

    A run that is `told` and whose process is killed leaves a line in the project's notifications when it is settled.
    """

    def __init__(self, root: Path, run: str, name: str, told: bool = False) -> None:
        self._path = root / FOLDER / f"{run}.json"
        self._facts: dict[str, Any] = {
            "run": run,
            "name": name,
            "told": told,
            "owner": os.getpid(),
            "owner_started": identity(os.getpid()),
            "state": None,
            "tasks": [],
        }
        self._write()

    def end(self, state: State[Any], tasks: list[Ended], seconds: float) -> State[Any]:
        """Write down how the run and its tasks ended; returns the state, for the flow to return.

        If the server is away, waits so long for it; if it does not come back, raises Abort, by which Prefect leaves
        the run to what the server knows of it: to try would take minutes, and `settle` does it.
        """
        self._facts["state"] = _as_json(state)
        self._facts["tasks"] = [
            {
                "id": str(task.task_run),
                "name": task.name,
                "state": _as_json(task.state),
            }
            for task in tasks
        ]
        self._write()
        if watch.away() and not watch.wait(seconds):
            raise Abort("the Prefect server is away")
        return state

    def _write(self) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_text(self._path, json.dumps(self._facts))
        except OSError:  # better not known than taken for killed
            self._path.unlink(missing_ok=True)


def _as_json(state: State[Any]) -> dict[str, Any]:
    told = {"type": state.type.value, "name": state.name, "message": state.message}
    return {**told, "timestamp": state.timestamp.isoformat()}


def _as_state(facts: Mapping[str, Any]) -> State[Any]:
    if "timestamp" not in facts:
        return State(type=StateType(facts["type"]), name=facts["name"], message=facts["message"])
    when = datetime.fromisoformat(facts["timestamp"])
    # The server puts its own time on what it is told: the message keeps the true one.
    message = f"{facts['message'] or ''} (on {when:%Y-%m-%d %H:%M:%S} UTC; the server was told later)".strip()
    return State(type=StateType(facts["type"]), name=facts["name"], message=message, timestamp=when)


def settle(root: Path, seconds: float = SECONDS) -> int:
    """Tell the server what it does not know of the runs that are over; returns of how many it could not be told."""
    paths = sorted((root / FOLDER).glob("*.json"))
    if not paths or watch.away():
        return len(paths)
    left = 0
    with get_client(sync_client=True) as client:
        for path in paths:
            try:
                facts = _read(path)
                over = not alive(*facts["owner"]) or (facts["state"] and facts["owner"][0] == os.getpid())
                if over and _settle(client, facts, seconds) and facts["told"]:
                    message = f"the rebuild {facts['name']} was killed"
                    notify(root, {"kind": "rebuild crashed", "run": facts["name"], "message": message})
                if over:
                    path.unlink(missing_ok=True)
            except FileNotFoundError:
                continue  # settled by another process
            except _Damaged as error:
                aside = path.with_suffix(".damaged")
                with contextlib.suppress(OSError):
                    path.rename(aside)
                print(f"nightjar: not recorded: {error} (kept as {aside})", file=sys.stderr)
            # A server of another version answers what pydantic refuses, with a ValueError.
            except (httpx.HTTPError, PrefectException, OSError, ValueError):
                left += 1
    return left


class _Damaged(Exception):
    """A record that is no record of a run."""


def _read(path: Path) -> dict[str, Any]:
    """The facts of a run. Raises _Damaged, and OSError if the file cannot be read."""
    try:
        facts = parse(path.read_bytes())
        owner = (int(facts["owner"]), str(facts["owner_started"]))
        tasks = {UUID(task["id"]): {**task, "state": _checked(task["state"])} for task in facts["tasks"]}
        state = facts["state"] and _checked(facts["state"])
        told = {"run": UUID(facts["run"]), "name": str(facts["name"]), "told": bool(facts.get("told"))}
    except (ValueError, KeyError, TypeError) as error:
        raise _Damaged(f"{path}: not the record of a run ({type(error).__name__})") from None
    return {**told, "owner": owner, "state": state, "tasks": tasks}


def _checked(state: Mapping[str, Any]) -> Mapping[str, Any]:
    _as_state(state)
    return state


def tell_left(root: Path, command: str) -> None:
    """Settle, and say in a line on standard error if that could not be done."""
    if settle(root):
        told = f"the Prefect server is away: the next run records this one (kept in {FOLDER})"
        print(f"nightjar: {command}: {told}", file=sys.stderr)


def _settle(client: SyncPrefectClient, facts: Mapping[str, Any], seconds: float) -> bool:
    """Tell the server how one run ended; returns whether its process was killed."""
    run = facts["run"]
    wanted = facts["state"] or KILLED
    try:
        known = client.read_flow_run(run).state
    except ObjectNotFound:
        return False  # a server with another database
    if facts["state"] is None and known is not None and known.is_final():
        return known.is_crashed()  # else it ended before anything could be written down
    if known is None or known.type.value != wanted["type"]:
        client.set_flow_run_state(run, _as_state(wanted), force=True)
    tasks = facts["tasks"]
    deadline = time.monotonic() + seconds
    while unknown := _unknown(client, run, tasks):
        if time.monotonic() > deadline:
            break
        time.sleep(0.25)
    for key, task in unknown.items():
        _tell(client, run, key, task)
    return facts["state"] is None


def _unknown(client: SyncPrefectClient, run: UUID, tasks: Mapping[UUID, Any]) -> dict[UUID, Any]:
    """The tasks whose end the server does not know, and those that it takes to run still."""
    known: dict[UUID, TaskRun] = {}
    while len(known) % _PAGE == 0:
        page = client.read_task_runs(
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run])), limit=_PAGE, offset=len(known)
        )
        known |= {task.id: task for task in page}
        if not page:
            break
    ended = {
        key: task.state.type.value for key, task in known.items() if task.state and task.state.is_final()
    }
    told = {key: task for key, task in tasks.items() if ended.get(key) != task["state"]["type"]}
    lost = {key: {"state": KILLED} for key in known if key not in ended and key not in tasks}
    return told | lost


def _tell(client: SyncPrefectClient, run: UUID, key: UUID, task: Mapping[str, Any]) -> None:
    state = _as_state(task["state"])
    if "name" in task:
        with contextlib.suppress(ObjectNotFound):
            client.read_task_run(key)
            client.set_task_run_state(key, state, force=True)
            return
        # No word of it came through.
        made = Task(fn=_nothing, name=task["name"])
        client.create_task_run(made, run, dynamic_key=str(key), id=key, name=task["name"], state=Running())
    client.set_task_run_state(key, state, force=True)


def _nothing() -> None:
    """Stands for a task that was."""
