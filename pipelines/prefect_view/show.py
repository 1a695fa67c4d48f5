"""Shows the journal of a run as a flow run of the project's Prefect server: a task a stage, logs, and artifacts.

Nothing here reaches the run itself, except Cancel in the UI. The journal records how many of its events have been
shown; whoever shows it next continues after them.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from pipelines.execution import journal as journals
from pipelines.execution.counts import counted
from pipelines.execution.journal import Event
from pipelines.graph.keys import PROGRESS
from pipelines.prefect_view.api import Api, refused
from pipelines.project.notify import notify

# How often the flow run is read for a Cancel, and how often at most the progress of a stage is shown.
CANCEL_SECONDS = 1.5
PROGRESS_SECONDS = 4.0
# A message that is shown later than this carries its own time.
LATE_SECONDS = 10.0
KILLED = "its process was killed"
LEVELS = {"info": 20, "warning": 30}
# Prefect's type of each state that is no success.
TYPES = {
    "running": "RUNNING",
    "failed": "FAILED",
    "stopped": "CANCELLED",
    "cancelled": "CANCELLED",
    "skipped": "CANCELLED",
    "crashed": "CRASHED",
}

# A state as the API takes it: type, name and message.
State = dict[str, str]


def show(api: Api, path: Path, alive: Callable[[], bool], cancel: Callable[[], None]) -> tuple[str, State]:
    """Show a journal to its end, or until its run is not alive; returns the id of the flow run, and its last state.

    `cancel` is called when somebody cancels the flow run. Raises httpx.HTTPError if the server fails, and OSError.
    """
    record = journals.read(path)
    view = _View(api, _flow_run(api, path, record))
    done = marked = record.shown if view.run == record.flow_run else 0
    number = 0

    def mark() -> None:
        nonlocal marked
        if done > marked:
            journals.append(path, "shown", flow_run=view.run, events=done)
            marked = done

    try:
        for event in journals.follow(path, alive):
            view.tick(cancel)
            if event is None:
                mark()
            elif event["event"] != "shown":
                number += 1
                view.take(event, number > done)
                done = max(done, number)
        if not view.end:
            view.end = _killed(path, record.begin)
        return view.run, view.close()
    finally:
        with contextlib.suppress(OSError):
            mark()


def _flow_run(api: Api, path: Path, record: journals.Record) -> str:
    """The flow run that shows a journal; a new one if there is none, or none in this database."""
    if record.flow_run:
        try:
            api.ask(f"flow_runs/{record.flow_run}")
            return record.flow_run
        except httpx.HTTPStatusError as error:
            if error.response.status_code != 404:
                raise
    begin = record.begin
    facts = {"name": begin["name"], "parameters": begin["parameters"], "state": _state("running")}
    flow = api.ask("flows/", {"name": begin["kind"]})["id"]
    run: str = api.ask("flow_runs/", {"flow_id": flow, **facts})["id"]
    journals.append(path, "shown", flow_run=run, events=0)
    return run


def _killed(path: Path, begin: Event) -> Event:
    """Record the end of a run that was killed. A nightly, or a run of a deployment, leaves a notification."""
    end = {"state": "crashed", "message": KILLED}
    journals.append(path, "end", **end)
    kind, name = begin["kind"], begin["name"]
    if kind == "nightly" or begin["parameters"].get("served"):
        notify(Path(), {"kind": f"{kind} crashed", "run": name, "message": f"the {kind} {name} was killed"})
    return {**end, "at": time.time()}


def _state(name: str, message: str = "", at: float | None = None) -> State:
    """A state, with the time of its event if it is shown late."""
    if at is not None and time.time() - at > LATE_SECONDS:
        message = f"{message} (on {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC)".strip()
    return {"type": TYPES.get(name, "COMPLETED"), "name": name.capitalize(), "message": message}


class _View:
    """The tasks and artifacts of one flow run."""

    def __init__(self, api: Api, run: str) -> None:
        self.run, self.end = run, Event()
        self._api = api
        self._stages: dict[str, Event] = {}
        self._states: dict[str, str] = {}
        self._tasks: dict[str, str] = {}
        # The artifact that shows how far a stage is, and when that was shown, or the stage began.
        self._progress: dict[str, str] = {}
        self._shown: dict[str, float] = {}
        self._asked = 0.0

    def take(self, event: Event, new: bool) -> None:
        """Show an event if it is `new`; one that was shown before is only remembered."""
        match event["event"]:
            case "graph":
                self._stages = event["stages"]
            case "end":
                self.end = event
        before = self._states.get(event.get("stage", ""))
        if event["event"] == "stage" and (before or event["state"] not in ("waiting", "stopped")):
            self._states[event["stage"]] = event["state"]
        if new:
            try:
                self._show(event, before)
            except httpx.HTTPStatusError as error:
                if not refused(error):
                    raise
                text = error.response.text[:300]
                print(f"nightjar: {event['event']} not shown: {error}: {text}", file=sys.stderr)

    def _show(self, event: Event, before: str | None) -> None:
        match event["event"]:
            case "graph":
                tags = [*self._api.ask(f"flow_runs/{self.run}")["tags"], *event["tags"]]
                self._api.ask(f"flow_runs/{self.run}", {"tags": list(dict.fromkeys(tags))}, "PATCH")
            case "log":
                self._log(event, event["message"], event["level"])
            case "artifact" if not event["stage"] or event["stage"] in self._states:
                self._artifact(
                    event["kind"], event["key"], event["data"], event["description"], event["stage"]
                )
            case "stage" if event["stage"] in self._states:
                self._stage(event, before)
            case "stage" if event["state"] == "waiting":
                self._log(event, f"{event['stage']} {event['why']}")

    def _stage(self, event: Event, before: str | None) -> None:
        name, state = event["stage"], event["state"]
        if before is None and state == "skipped":
            # Prefect's graph shows it behind the failure itself.
            self._stages.setdefault(name, {})["upstream"] = [event["error"]]
        if text := "\n".join(event["lines"]) or event["why"]:
            self._log(event, text, stage=name)
        if state not in (before, "waiting"):
            self._set(name, state, "" if state == "running" else _message(event), event["at"])
        if state == "running":
            self._far(name, event["lines"])
        elif artifact := self._progress.pop(name, None):
            last = {"data": 0.0, "description": f"{name}: {state}"} if state in TYPES else {"data": 100.0}
            self._api.ask(f"artifacts/{artifact}", last, "PATCH")

    def _far(self, name: str, lines: list[str]) -> None:
        """Show how far a stage is by its own lines, such as "step 5 of 27"."""
        now, counts = time.monotonic(), [found for line in lines if (found := counted(line))]
        if now - self._shown.setdefault(name, now) < PROGRESS_SECONDS or not counts:
            return
        self._shown[name], share = now, 100.0 * counts[-1][0] / counts[-1][1]
        if name in self._progress:
            self._api.ask(f"artifacts/{self._progress[name]}", {"data": share}, "PATCH")
        else:
            key = PROGRESS + self._stages.get(name, {}).get("key", name)
            self._progress[name] = self._artifact("progress", key, share, name, name)

    def _task(self, name: str) -> str:
        """The id of a stage's task. The API returns the one that is there, if any."""
        if name not in self._tasks:
            before = [it for it in self._stages.get(name, {}).get("upstream", ()) if it in self._states]
            inputs = {"wait_for": [{"input_type": "task_run", "id": self._task(it)} for it in before]}
            keys = {"name": name, "task_key": name, "dynamic_key": "0", "task_inputs": inputs}
            self._tasks[name] = self._api.ask("task_runs/", {"flow_run_id": self.run, **keys})["id"]
        return self._tasks[name]

    def _set(self, name: str, state: str, message: str, at: float) -> None:
        body = {"state": _state(state, message, at), "force": True}
        self._api.ask(f"task_runs/{self._task(name)}/set_state", body)

    def _log(self, event: Event, message: str, level: str = "info", stage: str = "") -> None:
        task = self._task(stage) if stage else None
        facts = {"name": "nightjar", "level": LEVELS[level], "message": message}
        when = datetime.fromtimestamp(event["at"], UTC).isoformat()
        self._api.ask("logs/", [{**facts, "timestamp": when, "flow_run_id": self.run, "task_run_id": task}])

    def _artifact(self, kind: str, key: str, data: Any, description: str, stage: str = "") -> str:
        """Create an artifact; returns its id."""
        if kind == "table":
            data = json.dumps(data)
        elif kind == "markdown":
            data = data.replace("](/", f"]({self._api.url}/")
        facts = {"type": kind, "key": key, "data": data, "description": description, "flow_run_id": self.run}
        task = self._task(stage) if stage else None
        made: str = self._api.ask("artifacts/", {**facts, "task_run_id": task})["id"]
        return made

    def tick(self, cancel: Callable[[], None]) -> None:
        """Call `cancel` if somebody cancelled the flow run, which is read from time to time."""
        now = time.monotonic()
        if now - self._asked >= CANCEL_SECONDS:
            self._asked = now
            if self._api.ask(f"flow_runs/{self.run}")["state"]["type"] in ("CANCELLING", "CANCELLED"):
                self._asked = math.inf
                cancel()

    def close(self) -> State:
        """End the tasks that have not ended, and return the state of the run."""
        for name, state in self._states.items():
            if state in ("running", "waiting"):
                self._set(name, "crashed", KILLED, self.end["at"])
        return _state(self.end["state"], self.end["message"], self.end["at"])


def _message(event: Event) -> str:
    """The message of a stage's last state."""
    if event["state"] == "skipped":
        return f"not run: {event['error']} before it did not succeed"
    return str(event["error"] or event["why"])
