"""Shows the journal of a run as the Prefect flow run in which `show` is called: a task a stage, logs, and artifacts.

Nothing here reaches the run itself, except Cancel in the UI, which sends it SIGTERM. Import this module only where
Prefect's settings name the server (see server.environment).
"""

from __future__ import annotations

import base64
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import allow_failure, get_run_logger, task
from prefect.artifacts import (
    create_image_artifact,
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.context import FlowRunContext
from prefect.futures import PrefectFuture
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL
from prefect.states import Cancelled, Completed, Failed, State

from pipelines.execution import journal as journals
from pipelines.execution.counts import counted
from pipelines.execution.journal import Event
from pipelines.execution.results import GOOD, End, Result
from pipelines.graph.keys import PROGRESS
from pipelines.history import scores

# How often the flow run is read for a Cancel, and the progress of a stage is shown.
CANCEL_SECONDS = 1.5
PROGRESS_SECONDS = 4.0
# A stage that takes longer than before is nearly done until it is.
MOST = 95.0
# A message that is shown later than this carries its own time.
LATE_SECONDS = 10.0
KILLED = "its process was killed"


def served() -> bool:
    """Whether a deployment started this flow run: its schedule, or somebody in the UI."""
    context = FlowRunContext.get()
    return context is not None and context.flow_run is not None and context.flow_run.deployment_id is not None


def show(path: Path, alive: Callable[[], bool], cancel: Callable[[], None]) -> State[Any]:
    """Show a journal to its end, or until its run is not alive; returns the state of the flow run.

    `cancel` is called once when somebody cancels the flow run.
    """
    run, over = UUID(str(flow_run.id)), threading.Event()
    journals.append(path, "shown", flow_run=str(run), served=served())
    # A runner of `nightjar serve` sends its run SIGTERM; any other run is cancelled from here.
    threading.Thread(target=_watch, args=(run, cancel, over), daemon=True, name="cancel").start()
    shown = _Shown(run)
    try:
        for event in journals.follow(path, alive):
            if event is not None:
                shown.take(event)
        return shown.close()
    finally:
        over.set()


def _watch(run: UUID, cancel: Callable[[], None], over: threading.Event) -> None:
    with get_client(sync_client=True) as client:
        while not over.wait(CANCEL_SECONDS):
            with contextlib.suppress(Exception):  # the server may be away for a moment
                state = client.read_flow_run(run).state
                if state is not None and (state.is_cancelling() or state.is_cancelled()):
                    cancel()
                    return


def _told(message: str, event: Event) -> str:
    """The message of an event, with its time if it is shown late."""
    if time.time() - event["at"] < LATE_SECONDS:
        return message
    return f"{message} (on {datetime.fromtimestamp(event['at'], UTC):%Y-%m-%d %H:%M:%S} UTC)".strip()


class _Shown:
    """The tasks and artifacts of one flow run."""

    def __init__(self, run: UUID) -> None:
        self._run = run
        self._stages: dict[str, Event] = {}
        self._tasks: dict[str, _Task] = {}
        self._futures: dict[str, PrefectFuture[Any]] = {}
        self._end: Event | None = None

    def take(self, event: Event) -> None:
        match event["event"]:
            case "graph":
                self._stages = event["stages"]
                with contextlib.suppress(Exception), get_client(sync_client=True) as client:
                    tags = [*client.read_flow_run(self._run).tags, *event["tags"]]
                    client.update_flow_run(self._run, tags=list(dict.fromkeys(tags)))
            case "stage":
                self._stage(journals.result_of(event), event)
            case "artifact" if event["stage"]:
                self._task(event["stage"]).events.put(event)
            case "artifact":
                _artifact(event)
            case "log":
                getattr(get_run_logger(), event["level"])("%s", event["message"])
            case "end":
                self._end = event

    def _stage(self, result: Result, event: Event) -> None:
        if not journals.has_task(result, self._futures):
            if result.state == "waiting":
                get_run_logger().info("%s %s", result.stage, result.why)
            return
        it = self._task(result.stage)
        it.events.put(event)
        if result.stage not in self._futures:
            # Prefect starts no task behind a skipped one: those behind a failure depend on the failure itself.
            needs = [result.error] if result.state == "skipped" else it.facts.get("upstream", [])
            self._futures[result.stage] = self._submit(it, needs)

    def _task(self, name: str) -> _Task:
        if name not in self._tasks:
            self._tasks[name] = _Task(name, self._stages.get(name, {}))
        return self._tasks[name]

    def _submit(self, it: _Task, needs: list[str]) -> PrefectFuture[Any]:
        @task(
            name=it.name,
            description=it.facts.get("description") or None,
            task_run_name=lambda: it.name,  # a text would be filled in as a template
            cache_policy=NO_CACHE,
            persist_result=False,
        )
        def one() -> State[Any]:
            return it.body()

        wait_for = [allow_failure(self._futures[name]) for name in needs if name in self._futures]
        return one.submit(return_state=False, wait_for=wait_for)

    def close(self) -> State[Any]:
        """End the tasks that have not ended, and return the state of the run."""
        for name in self._futures:
            self._tasks[name].events.put(None)
        for future in self._futures.values():
            future.wait()
        if self._end is None:
            return run_state(None)
        return run_state(End(self._end["state"], _told(self._end["message"], self._end)))


def run_state(end: End | None) -> State[Any]:
    """Prefect's state for the end of a run, or for a run that has none."""
    if end is None:
        return State(type=StateType.CRASHED, name="Crashed", message=KILLED)
    match end.state:
        case "completed":
            return Completed(message=end.message)
        case "failed":
            return Failed(message=end.message)
        case "skipped":
            return Cancelled(name="Skipped", message=end.message)
        case _:
            return Cancelled(message=end.message)


def _task_state(result: Result, event: Event) -> State[Any]:
    match result.state:
        case "failed":
            return Failed(message=_told(result.error, event))
        case "stopped":
            return Cancelled(name="Stopped", message=_told(result.error, event))
        case "skipped":
            reason = f"not run: {result.error} before it did not succeed"
            return Cancelled(name="Skipped", message=_told(reason, event))
        case state:
            return Completed(name=state.capitalize(), message=_told(result.why, event))


class _Task:
    """The task of one stage; `events` are its results and artifacts as they come, None at the end of the journal."""

    def __init__(self, name: str, facts: Event) -> None:
        self.name, self.facts = name, facts
        self.events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()

    def body(self) -> State[Any]:
        """Show the events until the stage has ended; returns the state of the task."""
        logger, progress = get_run_logger(), Progress(self.name, self.facts)
        while True:
            try:
                event = self.events.get(timeout=PROGRESS_SECONDS)
            except queue.Empty:
                event = {"event": ""}
            if event is None:
                progress.end("killed")
                return State(type=StateType.CRASHED, name="Crashed", message=KILLED)
            if event["event"] == "artifact":
                _artifact(event)
            elif event["event"] == "stage":
                result = journals.result_of(event)
                if lines := result.lines or ((result.why,) if result.why else ()):
                    logger.info("%s", "\n".join(lines))
                progress.hear(result.lines)
                if result.ended:
                    progress.end(result.state)
                    return _task_state(result, event)
            progress.show()


class Progress:
    """How far a running stage is, by its own lines ("step 5 of 27"), else by the seconds that it took before. Shown as
    an artifact that the UI redraws; a stage that ends sooner than PROGRESS_SECONDS has none.
    """

    def __init__(self, stage: str, facts: Event) -> None:
        self._stage, self._key = stage, PROGRESS + facts.get("key", stage)
        self._expected: float | None = facts.get("expected")
        self._began = self._shown = time.monotonic()
        self._share: float | None = None
        self._artifact: UUID | None = None

    def hear(self, lines: tuple[str, ...]) -> None:
        """Take note of what the stage wrote."""
        for line in lines:
            if found := counted(line):
                self._share = 100.0 * found[0] / found[1]

    def now(self) -> float:
        """0 to 100."""
        if self._share is not None:
            return self._share
        if not self._expected:
            return 0.0
        return min(100.0 * (time.monotonic() - self._began) / self._expected, MOST)

    def show(self) -> None:
        """Show it, if that was PROGRESS_SECONDS ago."""
        if time.monotonic() - self._shown < PROGRESS_SECONDS:
            return
        self._shown = time.monotonic()
        with contextlib.suppress(Exception):  # the next one shows more
            if self._artifact is None:
                seconds = f": expected to take {self._expected:.0f} s" if self._expected else ""
                about = f"{self._stage}{seconds}"
                made: Any = create_progress_artifact(self.now(), key=self._key, description=about)
                self._artifact = made
            else:
                update_progress_artifact(self._artifact, self.now())

    def end(self, state: str) -> None:
        """Show that the stage ended: 100 if it did all there was to do, else 0, as it no longer runs."""
        if self._artifact is not None:
            with contextlib.suppress(Exception):
                if state in GOOD:
                    update_progress_artifact(self._artifact, 100.0)
                else:
                    update_progress_artifact(self._artifact, 0.0, description=f"{self._stage}: {state}")


def _artifact(event: Event) -> None:
    """Create the artifact of an event. One that fails is logged."""
    key, data, about = event["key"], event["data"], event["description"]
    url = str(PREFECT_API_URL.value()).removesuffix("/api")
    try:
        match event["kind"]:
            case "table":
                create_table_artifact(table=data, key=key, description=about)
            case "markdown":
                create_markdown_artifact(data.replace("](/", f"]({url}/"), key=key, description=about)
            case "link":
                create_link_artifact(url + data, "The report", key=key, description=about)
            case "scores":
                _scores(Path())
    except Exception as error:
        get_run_logger().warning("no artifact %s: %s", key or "of the scores", error)


def _scores(root: Path) -> None:
    """The scores of the last rebuilds and nightlies, as a table and as a plot; nothing where there are none."""
    if not (runs := scores.history(root)):
        return
    from pipelines.prefect_view.score_plot import png

    told = "The scores of the last rebuilds and nightlies, with intervals"
    create_table_artifact(scores.table(runs), key="scores-history", description=f"{told}, the latest first")
    image = "data:image/png;base64," + base64.b64encode(png(runs)).decode()
    create_image_artifact(image, key="scores-plot", description=told)
