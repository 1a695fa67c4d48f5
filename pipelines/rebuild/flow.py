"""The Prefect flow `rebuild`: the DVC graph, a task a stage, side by side where the graph allows it.

Works in any DVC repository it is started in. It computes nothing itself: every task is one `dvc repro` of
one stage (see stage_task). Import this module only where Prefect is installed and told which server to use
(see server.use).
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fastapi.encoders  # noqa: F401  here, while a server starts: Prefect would import it with the first flow
from prefect import allow_failure, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogHandler
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed, Failed, State
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from nightjar.core import history
from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import load_rebuild
from nightjar.core.errors import NightjarError
from pipelines.execution import resources, shards
from pipelines.execution.lease import Gpu, lease_file
from pipelines.execution.results import Result, conclude, listen
from pipelines.execution.run_stage import LOGS, Stages
from pipelines.graph import describe, lock_copy, lock_order
from pipelines.graph import graph as graphs
from pipelines.prefect_view import artifacts, record, runs, watch
from pipelines.prefect_view import server as servers
from pipelines.process import lock
from pipelines.rebuild import stage_task
from pipelines.rebuild.stage_task import Run, why_now

# For how long an answer of DVC's holds that a ready stage is up to date, unless a stage runs in the meantime.
FRESH_SECONDS = 10.0
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
        except Exception as error:
            runs.tell("rebuild failed", f"{type(error).__name__}: {error}")
            raise


def _whole(
    root: Path, targets: Iterable[str], jobs: int | None, keep_going: bool, stop: threading.Event
) -> State[Any]:
    record.settle(root, 0.0)
    kept = record.Record(root, str(flow_run.id), str(flow_run.name), runs.served())
    artifacts.tag_run(root)
    lock_copy.mend(root)
    graph = graphs.read(root).only(targets)
    settings, shared = load_rebuild(root / PARAMS_FILE), shards.check(graph)
    lock_order.remember(graph)
    with Stages(root) as stages:
        stages.start()
        gpu = Gpu(root, _waits)
        run = Run(graph, root / LOGS / str(flow_run.name), listen, settings, shared, gpu, stages, stop)
        _conduct(run, jobs, keep_going)
    artifacts.report(graph, run.results)
    if not stop.is_set():  # otherwise time is short, and the rebuild that resumes does both
        _restore_order(root, targets)
        artifacts.keep_scores(root, run.graph.stages.values())
    state = _final(run)
    conclude(state)
    if state.is_failed():
        runs.tell("rebuild failed", state.message)
    ended = [record.Ended(run.futures[name].task_run_id, name, state) for name, state in run.states.items()]
    return kept.end(state, ended, record.STOPPED_SECONDS if stop.is_set() else servers.AWAY_SECONDS)


def _restore_order(root: Path, targets: Iterable[str]) -> None:
    try:
        for file in lock_order.restore(root, targets):
            get_run_logger().info("%s: the new entries are in the order of dvc repro", file)
    except (NightjarError, OSError) as error:  # what was built remains; the next rebuild tries again
        get_run_logger().warning("the entries of dvc.lock are not in the order of dvc repro: %s", error)


def flush() -> None:
    """Send the server what is still on its way; call it at the end, while the server is there."""
    APILogHandler().flush()
    EventsWorker.drain_all(timeout=5)


def _conduct(run: Run, jobs: int | None, keep_going: bool) -> None:
    """Submit every stage once what it needs is there and the machine has room for it."""

    asked = -math.inf

    def at_rest(name: str) -> bool:
        nonlocal asked
        stages = run.graph.stages
        if run.blocker(stages[name]) is not None:
            return True
        if why_now(run, stages[name]):
            return False
        # As far as is known from the start, nothing changed. DVC decides, as things are now: for all that are ready at
        # once, since each question reads dvc.yaml.
        if name not in run.found or time.monotonic() - asked > FRESH_SECONDS:
            alike = [other for other in schedule.ready if not why_now(run, stages[other])]
            found: dict[str, str] = {}
            with contextlib.suppress(NightjarError):  # DVC's own process says it
                found = graphs.why_now(alike, run.graph.root)
            run.found = {other: why for other, why in run.found.items() if other not in alike} | found
            asked = time.monotonic()
        return run.found.get(name) == ""

    last = history.expected(run.graph.root)
    schedule = resources.schedule(run.graph, run.settings, jobs, last, at_rest)
    if schedule.limits.one_gpu:
        lease_file()  # a folder that is not ours is to be told before anything starts
    while schedule.running or (schedule.waiting and not run.stop.is_set()):
        for name in [] if run.stop.is_set() else schedule.start(run.gpu.take):
            _submit(run, run.graph.stages[name])
        try:
            done = run.finished.get(timeout=0.5)
        except queue.Empty:
            continue
        schedule.done(done)
        run.gpu.release(done)
        if done in run.results and run.results[done].moved:
            asked = -math.inf  # its command may have changed more than its outputs
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
        task_run_name=lambda: stage.name,  # a text would be filled in as a template
        cache_policy=NO_CACHE,
        persist_result=False,
    )
    def one() -> State[Any]:
        state = run.states[stage.name] = stage_task.body(run, stage, blocker)
        return state

    wait_for = [allow_failure(run.futures[name]) for name in needs]
    future = one.submit(return_state=False, wait_for=wait_for)
    run.futures[stage.name] = future
    future.add_done_callback(lambda _: run.finished.put(stage.name))


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
