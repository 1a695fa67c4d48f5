"""The loop that runs the stages of a graph side by side: in a rebuild, and in a night.

It starts what may start (jobs, memory, the GPU's lease), runs each stage in a thread of its own, and passes every
change of state to a listener. It needs no Prefect.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path

from nightjar.core import history
from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import load_rebuild
from nightjar.core.errors import NightjarError
from nightjar.core.files import safe_name
from pipelines.execution import checks, resources, shards
from pipelines.execution.attempts import run_attempts
from pipelines.execution.lease import Gpu, lease_file
from pipelines.execution.results import Listener, Result
from pipelines.execution.run_stage import Outcome, Stages
from pipelines.execution.schedule import Schedule
from pipelines.graph import graph as graphs
from pipelines.graph.graph import Graph, Stage

# How long DVC's answer holds that a ready stage is up to date, unless a stage runs in the meantime.
FRESH_SECONDS = 10.0


@dataclass
class Conduct:
    """One run of the stages of `graph`, with logs in the folder `logs`.

    A failure stops what depends on it, or all stages unless `keep_going`. When `stop` is set, running stages are ended
    and no other starts. With `clone`, the stages run in that copy of the repository, and their outputs are not checked.
    With `afresh`, every stage runs, whether or not anything changed, and without shards.
    """

    graph: Graph
    logs: Path
    listen: Listener
    stop: threading.Event
    jobs: int | None = None
    keep_going: bool = True
    clone: Path | None = None
    afresh: bool = False
    results: dict[str, Result] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._settings = load_rebuild(self.graph.root / PARAMS_FILE)
        self._needs = resources.needs(self.graph, self._settings)
        self._here = Graph(self.clone or self.graph.root, self.graph.stages)
        self._shards = None if self.afresh else shards.check(self._here)
        self._gpu = Gpu(self.graph.root, self._waits)
        self._finished: queue.SimpleQueue[Result] = queue.SimpleQueue()
        self._failed_fast = ""
        # Why stages changed that were up to date when the graph was read; empty for those that DVC leaves as they are.
        self._found: dict[str, str] = {}
        self._asked = -math.inf

    def run(self) -> dict[str, Result]:
        """Run the stages; returns their results, in the order in which they ended. Raises NightjarError for a bad
        setting, before any stage starts.
        """
        expected = history.expected(self.graph.root)
        schedule = resources.schedule(self.graph, self._settings, self.jobs, expected, self._at_rest)
        if schedule.limits.one_gpu:
            lease_file()  # an error if its folder is not ours
        threads: list[threading.Thread] = []
        with Stages(self._here.root) as self._stages:
            self._stages.start()
            try:
                while schedule.running or (schedule.waiting and not self.stop.is_set()):
                    threads += self._start(schedule)
                    with contextlib.suppress(queue.Empty):
                        self._end(schedule, self._finished.get(timeout=0.5))
            except BaseException:
                self.stop.set()
                raise
            finally:
                for thread in threads:
                    thread.join()
        for name in schedule.waiting:
            self._tell(Result(name, "stopped", error=self._ended))
        return self.results

    @property
    def cancelled(self) -> bool:
        """Whether the run was stopped from outside, and not by a failure."""
        return self.stop.is_set() and not self._failed_fast

    @property
    def _ended(self) -> str:
        return f"stopped because {self._failed_fast} failed" if self._failed_fast else "the run was stopped"

    def _start(self, schedule: Schedule) -> list[threading.Thread]:
        self._schedule = schedule
        names = [] if self.stop.is_set() else schedule.start(self._gpu.take)
        threads = [threading.Thread(target=self._thread, args=(self.graph.stages[name],)) for name in names]
        for thread in threads:
            thread.start()
        return threads

    def _end(self, schedule: Schedule, result: Result) -> None:
        schedule.done(result.stage)
        self._gpu.release(result.stage)
        if result.moved:
            self._asked = -math.inf  # its command may have changed more than its outputs
        self._tell(result)
        if result.state == "failed" and not self.keep_going and not self.stop.is_set():
            self._failed_fast = result.stage
            self.stop.set()

    def _tell(self, result: Result) -> None:
        self.results[result.stage] = result
        self.listen(result)

    def _waits(self, stage: str, message: str) -> None:
        self.listen(Result(stage, "waiting", why=message))

    def _at_rest(self, name: str) -> bool:
        """Whether the stage needs nothing of the machine: it is blocked, or, as DVC finds now, unchanged."""
        stages = self.graph.stages
        if self.afresh:
            return False
        if self._blocker(stages[name]) is not None:
            return True
        if self._known(stages[name]):
            restored = stages[name].state == "would be restored"
            return restored and not graphs.would_run(name, self._here.root)
        if name not in self._found or time.monotonic() - self._asked > FRESH_SECONDS:
            # For all that are ready at once: each question reads dvc.yaml.
            alike = [other for other in self._schedule.ready if not self._known(stages[other])]
            found: dict[str, str] = {}
            with contextlib.suppress(NightjarError):  # the stage itself then reports it
                found = graphs.why_now(alike, self._here.root)
            self._found = {other: why for other, why in self._found.items() if other not in alike} | found
            self._asked = time.monotonic()
        return self._found.get(name) == ""

    def _blocker(self, stage: Stage) -> str | None:
        """The stage that failed, or was stopped, before this one."""
        for name in stage.upstream:
            result = self.results.get(name)
            if result is not None and result.state in ("failed", "stopped"):
                return name
            if result is not None and result.state == "skipped":
                return result.error
        return None

    def _known(self, stage: Stage) -> str:
        """Why the stage must be examined, as far as is known without DVC; empty if nothing before it moved."""
        reasons = [str(reason) for reason in stage.reasons if reason.kind != "upstream"]
        moved = [
            self.results[name] for name in stage.upstream if name in self.results and self.results[name].moved
        ]
        told = [
            f"{it.stage} {'ran' if it.state == 'ran' else 'was restored'}" for it in moved[: graphs.SHOWN]
        ]
        more = [f"{len(moved) - graphs.SHOWN} more before it"] if len(moved) > graphs.SHOWN else []
        return "; ".join([*reasons, *told, *more])

    def _thread(self, stage: Stage) -> None:
        try:
            result = self._one(stage)
        except NightjarError as error:
            result = Result(stage.name, "failed", error=str(error))
        except Exception as error:
            lines = tuple(traceback.format_exc().splitlines())
            result = Result(stage.name, "failed", error=f"{type(error).__name__}: {error}", lines=lines)
        self._finished.put(result)

    def _one(self, stage: Stage) -> Result:
        """Run one stage, unless a stage before it failed or nothing changed, and check its outputs."""
        blocker = self._blocker(stage)
        if blocker is not None:
            return Result(stage.name, "skipped", why=f"needs {blocker}", error=blocker)
        if self.stop.is_set():
            return Result(stage.name, "stopped", error=self._ended)
        if self.afresh:
            return self._run(stage, "afresh")
        why = self._known(stage) or self._found.get(stage.name, "looked at again")
        result = self._run(stage, why) if why else Result(stage.name, "cached", why="nothing changed")
        ended = result.state in ("ran", "cached") and self.clone is None
        return _checked(self.graph.root, stage, result) if ended else result

    def _run(self, stage: Stage, why: str) -> Result:
        log = self.logs / f"{safe_name(stage.name)}.log"

        def tell(why: str, *lines: str) -> None:
            self.listen(Result(stage.name, "running", why=why, lines=lines))

        def hear(lines: list[str]) -> None:
            tell(lines[-1], *lines)

        def once(log: Path) -> Outcome:
            lease = self._gpu.descriptor(stage.name)
            return self._stages.run(stage.name, log, hear, self.stop, lease, shared, self.afresh)

        tell(why)
        shared = 0.0
        if self._shards is not None:
            began = time.monotonic()
            fault = shards.before(self._here, stage, self._shards, log, hear, self.stop)
            shared = time.monotonic() - began
            if fault is not None:
                where = fault.log.relative_to(self.graph.root).as_posix() if fault.log else ""
                return Result(stage.name, "failed", shared, why, fault.error, where)
        attempts, pause = self._needs[stage.name].attempts, self._settings.backoff_seconds
        outcome, tried = run_attempts(once, log, attempts, pause, self.stop, lambda line: tell(line, line))
        if self.afresh and outcome.state in ("restored", "unchanged"):
            return Result(stage.name, "failed", why=why, error="DVC did not run it; is it frozen?")
        return Result.of(outcome, why, self.graph.root, tried)


def _checked(root: Path, stage: Stage, result: Result) -> Result:
    """The result once the stage's outputs were checked: failed if a check that blocks finds anything."""
    try:
        verdict = checks.verify(root, stage)
    except NightjarError as error:
        return replace(result, state="failed", error=str(error), moved=False)
    lines = [str(finding) for finding in verdict.findings]
    if verdict.artifacts and not verdict.known:
        lines.append(f"checked {verdict.artifacts} artifacts in {verdict.seconds:.2f} s")
    if verdict.findings or verdict.failed_before:
        result = replace(result, findings=tuple(checks.table(stage.name, verdict)))
    result = replace(result, lines=tuple(lines))
    if verdict.error:
        return replace(result, state="failed", error=verdict.error, moved=False)
    return result
