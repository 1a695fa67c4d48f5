"""The Prefect flow `rebuild`: the DVC graph, a task a stage, side by side where the graph allows it.

Works in any DVC repository it is started in. It computes nothing itself: every task is one `dvc repro` of
one stage (see run_stage). Import this module only where Prefect is installed and told which server to use
(see server.use).
"""

from __future__ import annotations

import contextlib
import logging
import queue
import re
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

from prefect import allow_failure, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.events.worker import EventsWorker
from prefect.futures import PrefectFuture
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed, Failed, State
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from pipelines import artifacts, groups, verify
from pipelines import graph as graphs
from pipelines.lock import rebuild_lock
from pipelines.run_stage import LOGS, Outcome, run_stage
from stages import history
from stages.errors import NightjarError

# Threads of the task runner; how many stages run at once is the flow's own parameter.
MOST_JOBS = 64


@dataclass(frozen=True)
class Result:
    """What became of one stage: ran, cached, failed (itself or a check of what it made), skipped (something before it
    failed) or stopped.

    `moved` says whether its outputs may be others than before, so that what needs them has to be looked at.
    """

    stage: str
    state: str
    seconds: float = 0.0
    why: str = ""
    error: str = ""
    log: str = ""
    moved: bool = False


Listener = Callable[[Result], None]


@dataclass
class Run:
    """One rebuild on its way; the threads of the tasks share it."""

    graph: graphs.Graph
    logs: Path
    listen: Listener
    stop: threading.Event = field(default_factory=threading.Event)
    results: dict[str, Result] = field(default_factory=dict)
    futures: dict[str, PrefectFuture[Any]] = field(default_factory=dict)
    finished: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)

    def blocker(self, stage: graphs.Stage) -> str | None:
        """The stage that failed, or was stopped, before this one."""
        for name in stage.upstream:
            result = self.results.get(name)
            if result is not None and result.state in ("failed", "stopped"):
                return name
            if result is not None and result.state == "skipped":
                return result.error
        return None


_listeners: list[Listener] = []


@contextlib.contextmanager
def listening(listen: Listener) -> Iterator[None]:
    """While the block lasts, hand `listen` what becomes of every stage of a rebuild in this process.

    A stage that runs is told again and again, in state `running`, with the last line it wrote as `why`.
    Calls come from several threads.
    """
    _listeners.append(listen)
    try:
        yield
    finally:
        _listeners.remove(listen)


def _listen(result: Result) -> None:
    for listener in _listeners:
        listener(result)


_runner: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=MOST_JOBS)


@flow(name="rebuild", persist_result=False, task_runner=_runner)
def rebuild(targets: list[str] | None = None, jobs: int = 2, wait: bool = False) -> State[Any]:
    """Rebuild what changed in the DVC repository of the current folder: `targets` and what they need, or all.

    At most `jobs` stages run at once. A failure stops only what depends on it. The state's message counts the
    outcomes; it is Completed only if every stage ran or was unchanged. Raises NightjarError for a broken
    graph, an unknown target, or a rebuild that is running already (unless `wait`).
    """
    root = graphs.read().root
    with rebuild_lock(root, wait):
        groups.end_orphans(root, lock=root / groups.DVC_LOCK)
        graph = graphs.read(root).only(targets or ())
        run = Run(graph, root / LOGS / str(flow_run.name), _listen)
        with _signals(run):
            _conduct(run, min(max(jobs, 1), MOST_JOBS))
        artifacts.report(run.graph.root, run.results)
        return _final(run)


def flush() -> None:
    """Send the server what is still on its way; call it at the end, while the server is there."""
    APILogHandler().flush()
    EventsWorker.drain_all(timeout=5)


def _conduct(run: Run, jobs: int) -> None:
    """Submit every stage once what it needs is there, the one with the longest way to go first."""
    waiting = {
        name: {other for other in stage.upstream if other in run.graph.stages}
        for name, stage in run.graph.stages.items()
    }
    way = _longest_way(run.graph)
    live = 0
    while live or (waiting and not run.stop.is_set()):
        ready = sorted((name for name, needs in waiting.items() if not needs), key=lambda name: -way[name])
        for name in [] if run.stop.is_set() else ready[: jobs - live]:
            del waiting[name]
            live += 1
            _submit(run, run.graph.stages[name])
        try:
            done = run.finished.get(timeout=0.5)
        except queue.Empty:
            continue
        live -= 1
        broken = Result(done, "failed", error="the task itself broke: see its log")
        run.listen(run.results.setdefault(done, broken))
        for needs in waiting.values():
            needs.discard(done)
    for name in waiting:
        run.results[name] = Result(name, "stopped", error="the rebuild was stopped before its turn")
        run.listen(run.results[name])


def _longest_way(graph: graphs.Graph) -> dict[str, float]:
    """Seconds from the start of each stage to the end of the last that needs it, by the local history."""
    last = history.expected(graph.root)
    way: dict[str, float] = {}
    for name in reversed(list(graph.stages)):
        after = [way[other] for other, stage in graph.stages.items() if name in stage.upstream]
        way[name] = last.get(name, 1.0) + max(after, default=0.0)
    return way


def _submit(run: Run, stage: graphs.Stage) -> None:
    blocker = run.blocker(stage)
    # The edges in the picture of the run. Prefect starts no task behind a skipped one: those behind a failure
    # all hang on the failure itself.
    needs = [blocker] if blocker else [name for name in run.graph.nearest(stage) if name in run.futures]

    @task(
        name=stage.name,
        description=stage.description or None,
        task_run_name=stage.name,
        cache_policy=NO_CACHE,
        persist_result=False,
    )
    def one() -> State[Any]:
        return _task(run, stage, blocker)

    wait_for = [allow_failure(run.futures[name]) for name in needs]
    future = one.submit(return_state=False, wait_for=wait_for)
    run.futures[stage.name] = future
    future.add_done_callback(lambda _: run.finished.put(stage.name))


def _task(run: Run, stage: graphs.Stage, blocker: str | None) -> State[Any]:
    """The body of a stage's task: run it, keep its facts, and say with the state how it went."""
    logger = get_run_logger()
    if blocker is not None:
        result = Result(stage.name, "skipped", why=f"needs {blocker}", error=blocker)
        run.results[stage.name] = result
        artifacts.outcome(run.graph.root, stage, result)
        return Cancelled(name="Skipped", message=f"not run: {blocker} before it did not succeed")
    if run.stop.is_set():
        run.results[stage.name] = Result(stage.name, "stopped", error="the rebuild was stopped")
        return Cancelled(name="Stopped", message="the rebuild was stopped")
    why = _why(run, stage)
    if not why:
        result = Result(stage.name, "cached", why="nothing changed")
        logger.info("nothing changed")
    else:
        logger.info("%s\n%s", why, stage.command)
        run.listen(Result(stage.name, "running", why=why))
        outcome = run_stage(
            stage.name,
            run.graph.root,
            run.logs / f"{_file_name(stage.name)}.log",
            _tell(run, stage, logger),
            run.stop,
        )
        result = _result(outcome, why, run.graph.root)
    if result.state in ("ran", "cached"):
        result = _verified(run, stage, result)
    run.results[stage.name] = result
    artifacts.outcome(run.graph.root, stage, result)
    if result.state == "failed":
        return Failed(message=result.error)
    if result.state == "stopped":
        return Cancelled(name="Stopped", message=result.error)
    return Completed(name="Cached" if result.state == "cached" else "Ran", message=result.why)


def _verified(run: Run, stage: graphs.Stage, result: Result) -> Result:
    """The result once what the stage made was checked: failed if a check that blocks finds anything."""
    logger = get_run_logger()
    try:
        verdict = verify.verify(run.graph.root, stage)
    except NightjarError as error:
        return replace(result, state="failed", error=str(error), moved=False)
    for finding in verdict.findings:
        logger.log(logging.ERROR if finding.blocks else logging.WARNING, "%s", finding)
    if verdict.artifacts and not verdict.known:
        logger.info("checked %d artifacts in %.2f s", verdict.artifacts, verdict.seconds)
    if verdict.findings or verdict.failed_before:
        artifacts.checks(stage, verdict)
    if verdict.error:
        return replace(result, state="failed", error=verdict.error, moved=False)
    return result


def _why(run: Run, stage: graphs.Stage) -> str:
    """Why the stage has to be looked at; empty if nothing changed and nothing before it ran."""
    reasons = [str(reason) for reason in stage.reasons if reason.kind != "upstream"]
    moved = [run.results[name] for name in stage.upstream if name in run.results and run.results[name].moved]
    told = [f"{it.stage} {'ran' if it.state == 'ran' else 'was restored'}" for it in moved[: graphs.SHOWN]]
    more = [f"{len(moved) - graphs.SHOWN} more before it"] if len(moved) > graphs.SHOWN else []
    return "; ".join([*reasons, *told, *more])


def _tell(run: Run, stage: graphs.Stage, logger: Any) -> Callable[[list[str]], None]:
    def tell(lines: list[str]) -> None:
        logger.info("%s", "\n".join(lines))
        run.listen(Result(stage.name, "running", why=lines[-1]))

    return tell


def _result(outcome: Outcome, why: str, root: Path) -> Result:
    log = outcome.log.relative_to(root).as_posix()
    moved = outcome.state in ("ran", "restored")
    state = "cached" if outcome.state in ("restored", "unchanged") else outcome.state
    if outcome.state == "restored":
        why = f"restored from the run cache ({why})"
    elif outcome.state == "unchanged":
        why = f"no difference in what it needs ({why})"
    error = outcome.error or ""
    if outcome.state == "failed":
        error = f"exit status {outcome.exit_code}: {error}"
    return Result(outcome.stage, state, outcome.seconds, why, error, log, moved)


def _file_name(stage: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.@-]+", "-", stage)


def _final(run: Run) -> State[Any]:
    counts: dict[str, int] = {}
    for result in run.results.values():
        counts[result.state] = counts.get(result.state, 0) + 1
    message = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    if run.stop.is_set():
        return Cancelled(name="Stopped", message=message)
    if {"failed", "stopped", "skipped"} & set(counts):
        return Failed(message=message)
    return Completed(message=message)


@contextlib.contextmanager
def _signals(run: Run) -> Iterator[None]:
    """While the block lasts, Ctrl-C and SIGTERM stop the stages and let the flow end in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        run.stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
