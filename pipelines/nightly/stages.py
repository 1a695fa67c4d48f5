"""The stages of a night as Prefect tasks: check out model and data, then run again what predicts and evaluates."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefect import allow_failure, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture
from prefect.states import Cancelled, Completed, Failed, State

from nightjar.core import history
from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import load_rebuild
from nightjar.core.errors import NightjarError
from nightjar.core.files import safe_name
from pipelines.clone.workspace import Workspace
from pipelines.execution import resources
from pipelines.execution.lease import Gpu
from pipelines.execution.results import Listener, Result
from pipelines.execution.run_stage import Stages, dvc
from pipelines.execution.schedule import Schedule
from pipelines.graph import describe
from pipelines.graph import graph as graphs
from pipelines.prefect_view import artifacts, record
from pipelines.project import places
from pipelines.versions import files as versions

TAKE = "take model and data"


class Scratch(Workspace):
    """A clone of the project to evaluate in. It shares no unfinished answers, because everything is computed again.
    Models come out of the cache as links where the file system allows it.
    """

    folder = places.NIGHTLY_CLONE
    shared = ()
    link_type = "reflink,hardlink,copy"


@dataclass
class Night:
    """A night in progress; the threads of the tasks share it. `graph` has the stages that run, a part of `whole`."""

    graph: graphs.Graph
    whole: graphs.Graph
    work: Path
    logs: Path
    stop: threading.Event
    listen: Listener
    results: dict[str, Result] = field(default_factory=dict)
    futures: dict[str, PrefectFuture[Any]] = field(default_factory=dict)
    states: dict[str, State[Any]] = field(default_factory=dict)

    def tell(self, result: Result) -> None:
        """Record the result of a stage and pass it on; called from several threads."""
        if result.state not in ("running", "waiting"):
            self.results[result.stage] = result
        self.listen(result)

    def ended(self) -> list[record.Ended]:
        """How every task ended."""
        return [
            record.Ended(self.futures[name].task_run_id, name, state) for name, state in self.states.items()
        ]

    def waits(self, stage: str, message: str) -> None:
        """Say that a stage waits for the GPU."""
        get_run_logger().info("%s %s", stage, message)
        self.tell(Result(stage, "waiting", why=message))


class Stopped(Exception):
    """Somebody stopped the night."""


class Broken(Exception):
    """A stage, or the taking of model and data, failed."""


def selected(graph: graphs.Graph, wanted: Sequence[str]) -> graphs.Graph:
    """The stages that are run again. Raises NightjarError if there are none."""
    found = {name: stage for name, stage in graph.stages.items() if name.partition("@")[0] in wanted}
    if not found:
        known = ", ".join(graph.stages) or "none"
        what = f"no stage is named {' or '.join(wanted)}"
        raise NightjarError(what, "nightly.stages", f"name some of: {known}")
    return graphs.Graph(graph.root, found)


def _submit(
    night: Night,
    name: str,
    about: str,
    body: Callable[[], State[Any]],
    after: Sequence[PrefectFuture[Any]] = (),
) -> PrefectFuture[Any]:
    @task(
        name=name,
        description=about or None,
        task_run_name=lambda: name,  # a text would be filled in as a template
        cache_policy=NO_CACHE,
        persist_result=False,
    )
    def one() -> State[Any]:
        state = night.states[name] = body()
        return state

    wait_for = [allow_failure(future) for future in after]
    future = night.futures[name] = one.submit(return_state=False, wait_for=wait_for)
    return future


def needed(graph: graphs.Graph, whole: graphs.Graph) -> list[str]:
    """What the stages of `graph`, a part of `whole`, read on this machine and none of them makes.

    A folder around outputs is not an output itself: the outputs in it are needed.
    """
    made = [Path(path) for stage in graph.stages.values() for path in stage.outs]
    outs = [Path(path) for stage in whole.stages.values() for path in stage.outs]
    found: set[Path] = set()
    for dep in {dep for stage in graph.stages.values() for dep in stage.deps if "://" not in dep}:
        inside = [out for out in outs if dep in map(Path.as_posix, out.parents)]
        found.update(inside or [Path(dep)])
    return sorted(path.as_posix() for path in found if not any(path.is_relative_to(it) for it in made))


def take(night: Night, pull: bool) -> None:
    """Check what the stages need out of the DVC cache, or pull it. Raises Broken or Stopped."""
    wanted = [path for path in needed(night.graph, night.whole) if not (night.work / path).exists()]
    faults: list[str] = []

    def body() -> State[Any]:
        command = ["pull" if pull else "checkout", "--", *wanted]
        done = dvc(command, night.work, night.logs / f"{command[0]}.log", night.stop)
        missing = [path for path in wanted if not (night.work / path).exists()]
        # What DVC says of it is long, and what it names first is often a file of the cache.
        if missing:
            faults.append(_lacking(night.graph.root, night.work, missing, pull))
        elif done.state == "failed":
            faults.append(f"dvc {command[0]}: {done.error}; run `nightjar rebuild`, or give --pull")
        if night.stop.is_set():
            return Cancelled(name="Stopped", message="stopped")
        return Failed(message=faults[0]) if faults else Completed(message=f"{len(wanted)} paths")

    if wanted:
        future = _submit(night, TAKE, "Brings models and data out of the DVC cache.", body)
        future.wait()
        if not future.state.is_completed() and not faults:
            faults.append(f"{TAKE}: {future.state.message}")
    if night.stop.is_set():
        raise Stopped
    if faults:
        raise Broken(faults[0])


def _lacking(root: Path, work: Path, missing: Sequence[str], pull: bool) -> str:
    """Why the paths that are `missing` in the clone `work` could not be taken, and which command gets them."""
    outputs = [path for path in missing if versions.read(work, versions.WORKSPACE, path).made]
    if not outputs:
        return f"{missing[0]} is missing{_more(missing)}; commit it, or make a stage of dvc.yaml write it"
    told = f"{outputs[0]} is not in the local cache{' or the remote' if pull else ''}{_more(missing)}"
    if (root / outputs[0]).exists():
        return f"{told}; add it with: dvc commit {outputs[0]}"
    return (
        f"{told}; make it with: nightjar rebuild" if pull else f"{told}; get it with: dvc pull {outputs[0]}"
    )


def _more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def conduct(night: Night, jobs: int) -> None:
    """Run every stage once those before it are done, at most `jobs` at once, within memory and the GPU's lease.

    Raises Broken or Stopped.
    """
    root = night.graph.root
    gpu = Gpu(root, night.waits)
    settings = load_rebuild(root / PARAMS_FILE)
    schedule = resources.schedule(night.graph, settings, jobs, history.expected(root))
    with Stages(night.work) as stages:
        _conduct(night, schedule, gpu, stages)
    if night.stop.is_set():
        raise Stopped
    if bad := [result for result in night.results.values() if result.state == "failed"]:
        raise Broken(f"{bad[0].stage} failed: {bad[0].error}")


def _conduct(night: Night, schedule: Schedule, gpu: Gpu, stages: Stages) -> None:
    finished: queue.SimpleQueue[str] = queue.SimpleQueue()
    futures: dict[str, PrefectFuture[Any]] = {}
    while schedule.running or schedule.waiting:
        over = night.stop.is_set() or any(result.state == "failed" for result in night.results.values())
        if over and not schedule.running:
            break
        for name in [] if over else schedule.start(gpu.take):
            after = [futures[other] for other in night.graph.stages[name].upstream if other in futures]
            futures[name] = _stage(night, night.graph.stages[name], after, gpu.descriptor(name), stages)
            futures[name].add_done_callback(lambda _, name=name: finished.put(name))  # type: ignore[misc]
        try:
            done = finished.get(timeout=0.5)
        except queue.Empty:
            continue
        schedule.done(done)
        gpu.release(done)
        if done not in night.results:
            night.tell(Result(done, "failed", error="the task itself broke: see its log"))


def _stage(
    night: Night,
    stage: graphs.Stage,
    after: Sequence[PrefectFuture[Any]],
    lease: int | None,
    stages: Stages,
) -> PrefectFuture[Any]:
    def body() -> State[Any]:
        logger = get_run_logger()

        def hear(lines: list[str]) -> None:
            logger.info("%s", "\n".join(lines))
            progress.hear(lines)
            night.tell(Result(stage.name, "running", why=lines[-1]))

        if night.stop.is_set():
            return Cancelled(name="Stopped", message="stopped before its turn")
        night.tell(Result(stage.name, "running", why="afresh"))
        log = night.logs / f"{safe_name(stage.name)}.log"
        with artifacts.progress(night.graph.root, stage) as progress:
            # The results of a night are in the ledger, not in the DVC cache.
            done = stages.run(stage.name, log, hear, night.stop, lease, afresh=True)
            progress.whole = done.state == "ran"
            progress.ended = "stopped" if done.state == "stopped" else "failed"
        state, error = done.state, done.error or ""
        if state == "failed":
            error = f"exit status {done.exit_code}: {error}"
        elif state not in ("ran", "stopped"):
            state, error = "failed", "DVC did not run it; is it frozen?"
        path = log.relative_to(night.graph.root).as_posix()
        night.tell(Result(stage.name, state, done.seconds, "afresh", error, path))
        if state == "stopped":
            return Cancelled(name="Stopped", message=error)
        return Failed(message=error) if state == "failed" else Completed(name="Ran", message="afresh")

    about = describe.stage(night.work, stage)
    return _submit(night, stage.name, about, body, after)
