"""One run of a flow: what it shares with the command that called it, its stages as Prefect tasks, and its end."""

# No `from __future__ import annotations`: Prefect reads the annotations of a task.
import contextlib
import contextvars
import logging
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import httpx
from prefect import Task, get_client, get_run_logger, task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext
from prefect.events.worker import EventsWorker
from prefect.futures import PrefectConcurrentFuture
from prefect.logging.handlers import APILogHandler
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect.states import Cancelled, Completed, Failed, State

from nightjar.core.display import printable
from pipelines.process.signals import at_signals
from pipelines.project import git
from pipelines.project.names import StageName
from pipelines.project.notify import notify
from pipelines.run.results import End, Listener, Result, listeners
from pipelines.run.run import Run
from pipelines.serving import flow_runs, supervisor
from pipelines.serving.flow_runs import Api

# Prefect's state of a stage's task, by the state of the stage. The others end without a call.
TASKS: dict[str, Callable[..., State[Any]]] = {"failed": Failed, "stopped": Cancelled}
# Prefect's state of a flow run, by the end of the run.
FLOWS: dict[str, Callable[..., State[Any]]] = {
    "completed": Completed,
    "failed": Failed,
    "cancelled": Cancelled,
    "skipped": partial(Cancelled, name="Skipped"),
}
# A server with SQLite has one writer: beside other runs it refuses a call, or answers late. A run that begins waits for
# it. Its stages, whose tasks ask for the limits of their tags, do not wait long for a server that may hang: 34 s.
PATIENT, HASTY = {PREFECT_CLIENT_MAX_RETRIES: 6}, {PREFECT_CLIENT_MAX_RETRIES: 3}
# How long the end of a run waits for its artifacts and its events.
SENT_SECONDS = 8.0
# The same of a run that was stopped.
STOPPED_SECONDS = 1.0


@dataclass
class Terminal:
    """The part of a run that a command shares with the flow that it calls.

    `stop` stops the run, and `listen` gets the results of its stages. `begin` is called when it begins, and `at_end`
    once the last stage has ended, with the number of tasks.

    `error` is what the flow raised, and `status` the exit status of the run.
    """

    flow: Any
    stop: threading.Event
    listen: Listener
    begin: Callable[[str], None]
    at_end: Callable[[End, str, int], None]
    prepared: Any = None
    error: Exception | None = None
    status: int = 0


TERMINAL: contextvars.ContextVar[Terminal | None] = contextvars.ContextVar("terminal", default=None)
_RUN: contextvars.ContextVar[Run] = contextvars.ContextVar("run")


class Session:
    """One run of a flow of this file, in the block, to its end or SIGTERM: the project at `root`, what stops the run,
    what listens to its stages, and what it shows in the Prefect UI beside states: its name, its log, and artifacts.

    The block sets `run_end`. What it raises becomes the end: from a terminal it is left to the command, else it is
    notified. Artifacts are sent by a thread, so that no stage waits for a server.
    """

    def __init__(self, kind: str) -> None:
        context, self._terminal = FlowRunContext.get(), TERMINAL.get()
        assert context is not None and context.flow_run is not None
        terminal = self._terminal
        self.root, self.kind, self.run = Path.cwd(), kind, str(context.flow_run.id)
        self.stop = terminal.stop if terminal else threading.Event()
        self.listen = listeners(_logged, *([terminal.listen] if terminal else []))
        self.prepared: Any = terminal.prepared if terminal else None
        self.tasks, self.run_end = 0, End("completed", "")
        self.tags, self._name = set(context.flow_run.tags), context.flow_run.name
        # A process of a runner or a worker runs only this flow.
        self._alone = context.flow_run.deployment_id is not None
        self._sent: list[Future[Any]] = []
        self._sender = ThreadPoolExecutor(1)
        self._held = contextlib.ExitStack()

    def __enter__(self) -> Self:
        if self._terminal is None:
            flow_runs.settle(self.root, Api(self.url))
        if self._terminal or self._alone:
            logging.raiseExceptions = False  # logs that a server cannot take now are no error of this process
        self._announce(f"started: {self.url}/runs/flow-run/{self.run}")
        self._held.enter_context(temporary_settings(HASTY))
        self._mark = self._held.enter_context(flow_runs.marked(self.root, self.run, self.kind, self._alone))
        if threading.current_thread() is threading.main_thread():
            self._held.enter_context(at_signals(self.stop.set))
        if self._terminal:
            self._terminal.begin(self.run)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _: object) -> bool:
        with self._held:
            if error is not None and not isinstance(error, Exception):
                return False
            if isinstance(error, Exception):
                self.run_end = End.of_error(error)
                if self._terminal:
                    self._terminal.error = error
            # A night that ended notifies of its verdicts.
            if self.run_end.state == "failed" and not self._terminal and (error or self.kind != "nightly"):
                notify(
                    self.root,
                    {"kind": f"{self.kind} failed", "run": self.run, "message": self.run_end.message},
                )
            wait(self._sent, STOPPED_SECONDS if self.stop.is_set() else SENT_SECONDS)
            self._sender.shutdown(wait=False, cancel_futures=True)
            state = self.state
            self._mark({"type": state.type.value, "name": str(state.name), "message": self.run_end.message})
            if self._terminal:
                self._terminal.at_end(self.run_end, self.run, self.tasks)
            elif self._alone:
                self._announce(f"{str(state.name).lower()}: {self.run_end.message}")
                supervisor.end_soon(0)
        return True

    @property
    def state(self) -> State[Any]:
        return FLOWS[self.run_end.state](message=self.run_end.message)

    @property
    def url(self) -> str:
        return str(PREFECT_API_URL.value()).removesuffix("/api")

    def log(self, message: str, level: str = "info") -> None:
        """Add a line to the log; `level` is info or warning."""
        getattr(get_run_logger(), level)(message)

    def name(self, name: str) -> None:
        """Give the flow run a telling name, and the tags of the project."""

        def send() -> None:
            with get_client(sync_client=True) as client:
                tags = sorted({*git.tags(self.root), *self.tags})
                client.update_flow_run(UUID(self.run), name=name, tags=tags)

        self._send(send)

    def artifact(self, kind: str, key: str, data: Any, description: str = "") -> None:
        """Add an artifact of the run, or of the task that calls this. `kind` is markdown or table."""
        create = create_table_artifact if kind == "table" else create_markdown_artifact
        self._send(partial(create, data, key=key, description=description))

    def _announce(self, what: str) -> None:
        """Print a line for whoever watches a runner or a worker, which may have gone."""
        if self._alone:
            with contextlib.suppress(OSError):
                print(printable(f"{self.kind} {self._name} {what}"), file=sys.stderr, flush=True)

    def _send(self, call: Callable[[], Any]) -> None:
        self._sent.append(self._sender.submit(contextvars.copy_context().run, call))

    def stages(self, run: Run) -> dict[str, Result]:
        """Run those stages of a run that are affected, each as a task; returns the results, in the order of their ends.

        A task is submitted when its stage may begin, so that it does not count as running while it waits. If Prefect
        did not start one, because its server could not be asked for the limits of the tags, it is submitted again, and
        so are all others from then on, without tags.
        """
        _RUN.set(run)
        futures: dict[str, PrefectConcurrentFuture[Any]] = {}
        limited = True
        for name in run.starts():
            limited = limited and name not in futures
            before = [futures[earlier] for earlier in run.upstream(name) if earlier in futures]
            future = _task(run, name, limited).submit(name, wait_for=before)
            assert isinstance(future, PrefectConcurrentFuture)  # of the flow's threads
            futures[name] = future
            future.wrapped_future.add_done_callback(partial(_conclude, run, name))
        if waiting := [future.task_run_id for future in futures.values() if not future.wrapped_future.done()]:
            self._send(partial(_cancel, waiting))
        self.tasks += run.attempted
        return run.results


def _again(task: Task[..., Any], task_run: Any, state: State[Any]) -> bool:
    return _RUN.get().again(task.name)


@task(cache_policy=NO_CACHE, persist_result=False, retry_condition_fn=_again)
def stage(name: str) -> State[Any]:
    """Run the stage `name` of the run, if DVC says so. The state has the stage's own name of its state."""
    result = _RUN.get().attempt(name)
    state = TASKS.get(result.state, Completed)
    return state(name=result.state.capitalize(), message=result.error or result.why)


def _task(run: Run, name: str, limited: bool) -> Task[..., Any]:
    stage_name, pauses = StageName.of(name), run.pauses(name)
    tags = {
        stage_name.stage,
        *([stage_name.item] if stage_name.item else []),
        *(["gpu"] if run.needs(name).gpu else []),
    }
    return stage.with_options(
        name=name,
        task_run_name=name.replace("{", "{{").replace("}", "}}"),
        tags=tags if limited else (),
        retries=len(pauses),
        retry_delay_seconds=pauses,
    )


def _conclude(run: Run, name: str, task: Future[Any]) -> None:
    """Tell the run that the task of a stage has ended. A task that the server refused has failed."""
    error = task.exception()
    cause = error and error.__cause__
    # Such as a limit of 0.
    refused = isinstance(cause, httpx.HTTPStatusError) and cause.response.is_client_error
    if refused and name not in run.results:
        run.fail(name, f"Prefect refused its task: {error}")
    run.conclude(name, f"{type(error).__name__}: {error}" if error else "it was not ready")


def _cancel(tasks: Iterable[UUID]) -> None:
    """Give the state Cancelled to tasks of a run that was stopped, which wait for a tag or for another attempt."""
    with get_client(sync_client=True) as client:
        for task_run in tasks:
            client.set_task_run_state(task_run, Cancelled(message="the run was stopped"), force=True)


def _logged(result: Result) -> None:
    if result.lines:
        get_run_logger().info("\n".join(result.lines))


def drain(seconds: float) -> bool:
    """Send what this process still has for the server, logs and events; whether all was sent in so many seconds."""
    done = threading.Event()

    def send() -> None:
        with contextlib.suppress(Exception):
            APILogHandler().flush()
            EventsWorker.drain_all(timeout=seconds)
        done.set()

    threading.Thread(target=send, daemon=True, name="drain").start()
    return done.wait(seconds)
