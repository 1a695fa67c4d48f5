"""The loop that runs the stages of a graph side by side: in a rebuild, a study, and a night.

It starts what may start (jobs, memory, the GPU's lease), runs each stage in a thread of its own, and passes every
change of state to a listener. It needs no Prefect.

A stage whose upstream stages have ended starts twice. First DVC says whether it changed, for which it needs nothing of
the machine. If its command is to run, it then waits for the memory and the GPU that it needs.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from nightjar.core import history
from nightjar.core.config import PARAMS_FILE
from nightjar.core.driver_params import Shards, load_rebuild
from nightjar.core.errors import NightjarError
from nightjar.core.files import safe_name
from pipelines.execution import checks, resources, shards
from pipelines.execution.lease import Gpu, lease_file
from pipelines.execution.results import GOOD, Listener, Result
from pipelines.execution.run_stage import Stages
from pipelines.execution.schedule import NOTHING, Needs, Schedule
from pipelines.graph import graph as graphs
from pipelines.graph.graph import Graph, Stage

# The pause before another attempt is doubled each time, up to this many seconds.
LONGEST_PAUSE = 300.0
# Our stages, and most commands, end with this status for bad input. Another attempt would fail too.
BAD_INPUT = 2


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
        self._shards = Shards() if self.afresh else shards.check(self._here, self._needs)
        self._gpu = Gpu(self.graph.root, self._waits)
        self._steps: queue.SimpleQueue[Result | tuple[str, Needs]] = queue.SimpleQueue()
        self._failed_fast = ""
        # Whether the command of each stage at which DVC has looked is to run, and why.
        self._looks: dict[str, tuple[bool, str]] = {}
        if self.afresh:
            self._looks = dict.fromkeys(self.graph.stages, (True, "afresh"))

    def run(self) -> dict[str, Result]:
        """Run the stages; returns their results, in the order in which they ended. Raises NightjarError for a bad
        setting, before any stage starts.
        """
        upstream = {name: stage.upstream for name, stage in self.graph.stages.items()}
        limits = resources.limits(self._settings, self.jobs)
        needs = self._needs if self.afresh else {}
        schedule = Schedule(upstream, needs, limits, history.expected(self.graph.root))
        if limits.one_gpu:
            lease_file()  # an error if its folder is not ours
        threads: list[threading.Thread] = []
        with Stages(self._here.root) as self._stages:
            try:
                while schedule.running or (schedule.waiting and not self.stop.is_set()):
                    threads += self._start(schedule)
                    with contextlib.suppress(queue.Empty):
                        self._end(schedule, self._steps.get(timeout=0.5))
            except BaseException:
                self.stop.set()
                raise
            finally:
                for thread in threads:
                    thread.join()
        for name in schedule.waiting:
            self._tell(Result(name, "stopped", error=self._stopped))
        return self.results

    @property
    def cancelled(self) -> bool:
        """Whether the run was stopped from outside, and not by a failure."""
        return self.stop.is_set() and not self._failed_fast

    @property
    def _stopped(self) -> str:
        return f"stopped because {self._failed_fast} failed" if self._failed_fast else "the run was stopped"

    def _start(self, schedule: Schedule) -> list[threading.Thread]:
        names = [] if self.stop.is_set() else schedule.start(self._gpu.take)
        threads = [threading.Thread(target=self._thread, args=(self.graph.stages[name],)) for name in names]
        for thread in threads:
            thread.start()
        return threads

    def _end(self, schedule: Schedule, step: Result | tuple[str, Needs]) -> None:
        if not isinstance(step, Result):
            schedule.again(*step)
            return
        schedule.done(step.stage)
        self._gpu.release(step.stage)
        self._tell(step)
        if step.state == "failed" and not self.keep_going and not self.stop.is_set():
            self._failed_fast = step.stage
            self.stop.set()

    def _tell(self, result: Result) -> None:
        self.results[result.stage] = result
        self.listen(result)

    def _waits(self, stage: str, message: str) -> None:
        self.listen(Result(stage, "waiting", why=message))

    def _thread(self, stage: Stage) -> None:
        try:
            step = self._step(stage)
        except NightjarError as error:
            step = Result(stage.name, "failed", error=str(error))
        except Exception as error:
            lines = tuple(traceback.format_exc().splitlines())
            step = Result(stage.name, "failed", error=f"{type(error).__name__}: {error}", lines=lines)
        self._steps.put(step)

    def _step(self, stage: Stage) -> Result | tuple[str, Needs]:
        """Look at a stage, or run it after that. Returns its result, or what it needs to run."""
        before = [self.results[name] for name in stage.upstream if name in self.results]
        for it in before:
            if it.state not in GOOD:
                cause = it.error if it.state == "skipped" else it.stage
                return Result(stage.name, "skipped", why=f"needs {cause}", error=cause)
        if self.stop.is_set():
            return Result(stage.name, "stopped", error=self._stopped)
        if stage.name in self._looks:
            result = self._run(stage, *self._looks[stage.name])
        else:
            known = _known(stage, [it for it in before if it.moved])
            # Nothing before it changed since the graph was read, so the state that was found then still holds.
            found = {"state": stage.state}
            if stage.state != "would run" or any(reason.kind == "upstream" for reason in stage.reasons):
                found = self._stages.look(stage.name, self.stop)
            if found["state"] in ("failed", "stopped"):
                return Result(stage.name, found["state"], why=known, error=found["error"])
            if found["state"] == "would fail":  # DVC would fail with an exception of Python
                return Result(stage.name, "failed", why=known, error=found["why"])
            if found["state"] != "up to date":
                runs = found["state"] == "would run"
                self._looks[stage.name] = runs, known or found["why"]
                return stage.name, self._needs[stage.name] if runs else NOTHING
            why = f"no difference in what it needs ({known})" if known else "nothing changed"
            result = Result(stage.name, "unchanged", why=why)
        good = result.state in GOOD and self.clone is None
        return checks.checked(self.graph.root, stage, result) if good else result

    def _run(self, stage: Stage, runs: bool, why: str) -> Result:
        log = self.logs / f"{safe_name(stage.name)}.log"

        def hear(lines: list[str]) -> None:
            self.listen(Result(stage.name, "running", why=lines[-1], lines=tuple(lines)))

        def once(log: Path) -> Result:
            lease = self._gpu.descriptor(stage.name)
            return self._stages.run(stage.name, log, hear, self.stop, lease, shared, self.afresh)

        self.listen(Result(stage.name, "running", why=why))
        shared = 0.0
        if runs and self._needs[stage.name].shards and self._shards.count > 1:
            began = time.monotonic()
            fault = shards.share(self._here, stage, self._shards, log, hear, self.stop)
            shared = time.monotonic() - began
            if fault is not None:
                return self._explained(replace(fault, seconds=shared), why)
        result = self._attempts(once, log, self._needs[stage.name].attempts, hear)
        if self.afresh and result.state in ("restored", "unchanged"):
            return Result(stage.name, "failed", why=why, error="DVC did not run it; is it frozen?")
        if result.state == "unchanged":
            why = f"no difference in what it needs ({why})"
        return self._explained(result, f"{result.why} ({why})" if result.why else why)

    def _explained(self, result: Result, why: str) -> Result:
        return replace(result, why=why, log=Path(result.log).relative_to(self.graph.root).as_posix())

    def _attempts(
        self, once: Callable[[Path], Result], log: Path, attempts: int, hear: Callable[[list[str]], None]
    ) -> Result:
        """Call `once` with a log file until it does not fail, at most `attempts` times (`meta: {attempts: 3}`).

        The first attempt writes to `log`, such as a.log, the next to a.attempt-2.log. Bad input is not tried again.
        """
        pause, number = self._settings.backoff_seconds, 1
        while True:
            result = once(log if number == 1 else log.with_name(f"{log.stem}.attempt-{number}{log.suffix}"))
            if result.state == "failed":
                result = replace(result, error=f"exit status {result.exit_code}: {result.error}")
            if result.state != "failed" or result.exit_code == BAD_INPUT or number == attempts:
                break
            pause = min(pause, LONGEST_PAUSE)
            hear([f"attempt {number} of {attempts} failed ({result.error}); next in {pause:g} s"])
            if self.stop.wait(pause):
                return replace(result, state="stopped", error="stopped before its next attempt")
            number, pause = number + 1, 2 * pause
        if number > 1:
            error = f"{result.error} ({number} attempts)" if result.error else ""
            result = replace(result, why=f"after {number} attempts", error=error)
        return result


def _known(stage: Stage, moved: list[Result]) -> str:
    """Why a stage may have changed, as far as is known without DVC: its own reasons, and the stages before it that
    `moved`.
    """
    reasons = [str(reason) for reason in stage.reasons if reason.kind != "upstream"]
    before = [f"{it.stage} {'ran' if it.state == 'ran' else 'was restored'}" for it in moved[: graphs.SHOWN]]
    more = [f"{len(moved) - graphs.SHOWN} more before it"] if len(moved) > graphs.SHOWN else []
    return "; ".join([*reasons, *before, *more])
