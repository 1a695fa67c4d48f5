"""The Prefect flow `rebuild`: the DVC graph, a task a stage, side by side where the graph allows it.

Works in any DVC repository it is started in. It computes nothing itself: every task is one `dvc repro` of
one stage (see run_stage). Import this module only where Prefect is installed and told which server to use
(see server.use).
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prefect import allow_failure, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.events.worker import EventsWorker
from prefect.futures import PrefectFuture
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed, Failed, State
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from pipelines import (
    artifacts,
    describe,
    groups,
    lock,
    lock_copy,
    lock_order,
    record,
    resources,
    runs,
    shards,
    verify,
    watch,
)
from pipelines import graph as graphs
from pipelines.attempts import run_attempts
from pipelines.lease import Gpu, lease_file
from pipelines.ready import Pool
from pipelines.results import Listener, Result, conclude, listen
from pipelines.run_stage import LOGS, Outcome, run_stage, stage_environment
from stages import history
from stages.config import PARAMS_FILE
from stages.driver_params import Rebuild, Shards, load_rebuild
from stages.errors import NightjarError
from stages.files import safe_name


@dataclass
class Run:
    """One rebuild on its way; the threads of the tasks share it."""

    graph: graphs.Graph
    logs: Path
    listen: Listener
    settings: Rebuild
    shards: Shards
    gpu: Gpu
    ready: Pool
    # Set to end the stages that run and start no others; `failed_fast` names the stage whose failure did.
    stop: threading.Event = field(default_factory=threading.Event)
    failed_fast: str = ""
    results: dict[str, Result] = field(default_factory=dict)
    futures: dict[str, PrefectFuture[Any]] = field(default_factory=dict)
    states: dict[str, State[Any]] = field(default_factory=dict)
    finished: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)

    @property
    def ended(self) -> str:
        """Why no more stages start."""
        return f"stopped because {self.failed_fast} failed" if self.failed_fast else "the rebuild was stopped"

    def blocker(self, stage: graphs.Stage) -> str | None:
        """The stage that failed, or was stopped, before this one."""
        for name in stage.upstream:
            result = self.results.get(name)
            if result is not None and result.state in ("failed", "stopped"):
                return name
            if result is not None and result.state == "skipped":
                return result.error
        return None


# Its threads; how many stages run at once is the flow's own parameter.
_runner: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=64)


@flow(name="rebuild", persist_result=False, task_runner=_runner)
def rebuild(
    targets: list[str] | None = None,
    jobs: runs.Jobs | None = None,
    wait: bool = False,
    keep_going: bool = True,
) -> State[Any]:
    """Rebuild what changed in the DVC repository of the current folder: `targets` and what they need, or all.

    At most `jobs` stages run at once (by default rebuild.jobs of params.yaml), within the memory and the GPU that
    they need. A failure stops only what depends on it, or all unless `keep_going`. The state's message counts the
    outcomes; it is Completed only if every stage ran or was unchanged. Raises NightjarError for a broken graph, an
    unknown target or a bad parameter; a rebuild that is running already makes it Skipped (unless `wait`).
    """
    stop = threading.Event()
    with watch.stopping(stop):
        try:
            root = graphs.find_root()
            fix = lock.WAIT_SERVED if runs.served() else lock.WAIT
            with lock.rebuild_lock(root, wait, stop, fix):
                return _whole(root, targets or (), jobs, keep_going, stop)
        except lock.Held as error:
            return Cancelled(name="Skipped", message=str(error))
        except lock.Stopped:
            return Cancelled(message="stopped while it waited")
        except NightjarError as error:
            if runs.served():  # nobody sees what is raised
                runs.tell("rebuild failed", str(error))
                return Failed(message=str(error))
            raise


def _whole(
    root: Path, targets: Iterable[str], jobs: int | None, keep_going: bool, stop: threading.Event
) -> State[Any]:
    record.settle(root, 0.0)
    kept = record.Record(root, str(flow_run.id), str(flow_run.name), runs.served())
    artifacts.tag_run(root)
    groups.end_orphans(root, lock=root / groups.DVC_LOCK)
    lock_copy.mend(root)
    graph = graphs.read(root).only(targets)
    settings, shared = load_rebuild(root / PARAMS_FILE), shards.check(graph)
    gpu, ready = Gpu(root, _waits), Pool.of(root, stage_environment())
    run = Run(graph, root / LOGS / str(flow_run.name), listen, settings, shared, gpu, ready, stop)
    lock_order.remember(graph)
    try:
        _conduct(run, jobs, keep_going)
    finally:
        run.ready.close()
    if not stop.is_set():  # else the rebuild that goes on restores it
        _restore_order(root, targets)
    artifacts.report(root, run.graph.stages.values(), run.results)
    state = _final(run)
    conclude(state)
    if state.is_failed():
        runs.tell("rebuild failed", state.message)
    ended = [record.Ended(run.futures[name].task_run_id, name, state) for name, state in run.states.items()]
    return kept.end(state, ended, record.STOPPED_SECONDS if stop.is_set() else record.AWAY_SECONDS)


def _restore_order(root: Path, targets: Iterable[str]) -> None:
    try:
        for file in lock_order.restore(root, targets):
            get_run_logger().info("%s: the new entries are in the order of dvc repro", file)
    except (NightjarError, OSError) as error:  # what was built stands; the next rebuild tries again
        get_run_logger().warning("the entries of dvc.lock are not in the order of dvc repro: %s", error)


def flush() -> None:
    """Send the server what is still on its way; call it at the end, while the server is there."""
    APILogHandler().flush()
    EventsWorker.drain_all(timeout=5)


def _conduct(run: Run, jobs: int | None, keep_going: bool) -> None:
    """Submit every stage once what it needs is there and the machine has room for it."""

    def at_rest(name: str) -> bool:
        stage = run.graph.stages[name]
        return run.blocker(stage) is not None or not _why(run, stage)

    last = history.expected(run.graph.root)
    schedule = resources.schedule(run.graph, run.settings, jobs, last, at_rest)
    if schedule.limits.one_gpu:
        lease_file()  # a folder that is not ours is to be told before anything starts
    while schedule.running or (schedule.waiting and not run.stop.is_set()):
        for name in [] if run.stop.is_set() else schedule.start(run.gpu.take):
            _submit(run, run.graph.stages[name])
        if not run.stop.is_set():
            stages = [run.graph.stages[name] for name in schedule.waiting]
            soon = sum(bool(stage.reasons) and run.blocker(stage) is None for stage in stages)
            run.ready.fill(min(schedule.limits.jobs, soon))
        try:
            done = run.finished.get(timeout=0.5)
        except queue.Empty:
            continue
        schedule.done(done)
        run.gpu.release(done)
        broken = Result(done, "failed", error="the task itself broke: see its log")
        run.listen(run.results.setdefault(done, broken))
        if not keep_going and run.results[done].state == "failed" and not run.stop.is_set():
            run.failed_fast = done
            run.stop.set()
    for name in schedule.waiting:
        run.results[name] = Result(name, "stopped", error=run.ended)
        run.listen(run.results[name])


def _waits(stage: str, message: str) -> None:
    get_run_logger().info("%s %s", stage, message)
    listen(Result(stage, "waiting", why=message))


def _submit(run: Run, stage: graphs.Stage) -> None:
    blocker = run.blocker(stage)
    # The edges in the picture of the run. Prefect starts no task behind a skipped one: those behind a failure
    # all hang on the failure itself.
    needs = [blocker] if blocker else [name for name in run.graph.nearest(stage) if name in run.futures]

    # No tags: Prefect asks its server for a place under each tag's limit, and a stage has to begin without a server.
    @task(
        name=stage.name,
        description=describe.stage(run.graph.root, stage) or None,
        task_run_name=stage.name,
        cache_policy=NO_CACHE,
        persist_result=False,
    )
    def one() -> State[Any]:
        state = run.states[stage.name] = _task(run, stage, blocker)
        return state

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
        run.results[stage.name] = Result(stage.name, "stopped", error=run.ended)
        return Cancelled(name="Stopped", message=run.ended)
    why = _why(run, stage)
    if not why:
        result = Result(stage.name, "cached", why="nothing changed")
        logger.info("nothing changed")
    else:
        logger.info("%s\n%s", why, stage.command)
        run.listen(Result(stage.name, "running", why=why))
        result = _run(run, stage, why, logger)
    if result.state == "ran":
        lock_copy.keep(run.graph.root, stage.name)
    if result.state in ("ran", "cached"):
        result = _verified(run, stage, result)
    run.results[stage.name] = result
    artifacts.outcome(run.graph.root, stage, result)
    if result.state == "failed":
        return Failed(message=result.error)
    if result.state == "stopped":
        return Cancelled(name="Stopped", message=result.error)
    return Completed(name="Cached" if result.state == "cached" else "Ran", message=result.why)


def _run(run: Run, stage: graphs.Stage, why: str, logger: Any) -> Result:
    def tell(lines: list[str]) -> None:
        logger.info("%s", "\n".join(lines))
        progress.hear(lines)
        run.listen(Result(stage.name, "running", why=lines[-1]))

    def once(log: Path) -> Outcome:
        lease = run.gpu.descriptor(stage.name)
        return run_stage(
            stage.name, run.graph.root, log, tell, run.stop, lease=lease, ready=run.ready, earlier=shared
        )

    def again(message: str) -> None:
        logger.warning("%s", message)
        run.listen(Result(stage.name, "running", why=message))

    log = run.logs / f"{safe_name(stage.name)}.log"
    attempts = resources.needs(run.graph, run.settings)[stage.name].attempts
    with artifacts.progress(run.graph.root, stage) as progress:
        began = time.monotonic()
        fault = shards.before(run.graph, stage, run.shards, log, tell, run.stop)
        shared = time.monotonic() - began
        if fault is not None:
            told = fault.log.relative_to(run.graph.root).as_posix() if fault.log else ""
            return Result(stage.name, "failed", shared, why, fault.error, told)
        outcome, tried = run_attempts(once, log, attempts, run.settings.backoff_seconds, run.stop, again)
        progress.ended, progress.whole = outcome.state, outcome.state in ("ran", "restored", "unchanged")
    return Result.of(outcome, why, run.graph.root, tried)


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


def _final(run: Run) -> State[Any]:
    counts: dict[str, int] = {}
    for result in run.results.values():
        counts[result.state] = counts.get(result.state, 0) + 1
    message = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    if run.stop.is_set() and not run.failed_fast:
        return Cancelled(message=message)
    if {"failed", "stopped", "skipped"} & set(counts):
        return Failed(message=message)
    return Completed(message=message)
