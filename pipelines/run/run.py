"""One run of the stages of a graph: when a stage's task begins, and what it does, in a rebuild, a study and a night.

DVC decides whether a stage's command runs (decision.py), and the room on the machine how many commands run at once
(resources.py). Prefect runs the tasks, and tries them again (serving/session.py).
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from nightjar.core.config import PARAMS_FILE
from nightjar.core.errors import NightjarError
from nightjar.core.identity import safe_name
from nightjar.params.drivers import Rebuild, Shards
from pipelines.graph.graph import Graph, Stage
from pipelines.process.child import Lines
from pipelines.run import checks, resources, shards
from pipelines.run.decision import Verdict, decide
from pipelines.run.resources import LOOK_SECONDS, Gpu, Needs, Room, critical_path, lease_file
from pipelines.run.results import GOOD, Listener, Result
from pipelines.run.run_stage import Stages
from stages._runtime import history

# The pause before another attempt is doubled each time, up to this many seconds.
LONGEST_PAUSE = 300.0
# How often a wait looks for a stop from outside.
STEP_SECONDS = 0.1
# How long a run that was stopped waits for tasks that have begun, but wait for a tag or for their next attempt.
LAST_SECONDS = 2.0
# Our stages, and most commands, end with this status for bad input. Another attempt would fail too.
BAD_INPUT = 2


class Stop(threading.Event):
    """Set by itself, as a failure does it, or with the event `outside`."""

    def __init__(self, outside: threading.Event) -> None:
        super().__init__()
        self.outside = outside

    def is_set(self) -> bool:
        return super().is_set() or self.outside.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while not self.is_set() and (remaining := deadline - time.monotonic()) > 0:
            super().wait(min(remaining, STEP_SECONDS))
        return self.is_set()


@dataclass
class Run:
    """A run of those stages of `graph` that are `affected`, with logs in the folder `logs`.

    A failure stops what depends on it, or all stages unless `keep_going`. When `stop` is set, commands that run are
    ended and no other starts. With `clone`, the stages run in that copy of the repository, and their outputs are not
    checked. With `force`, every stage runs, whether or not anything changed, and without shards. `stages` is DVC's
    worker for the repository in which they run.
    """

    graph: Graph
    stages: Stages
    logs: Path
    listen: Listener
    stop: threading.Event
    jobs: int | None = None
    keep_going: bool = True
    clone: Path | None = None
    force: bool = False
    results: dict[str, Result] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises NightjarError for a bad setting, before any stage starts."""
        settings = Rebuild.load(self.graph.root / PARAMS_FILE)
        limits = resources.limits(settings, self.jobs)
        if limits.one_gpu:
            lease_file()  # an error if its folder is not ours
        self.stop = Stop(self.stop)
        self._backoff = settings.backoff_seconds
        self._needs = resources.needs(self.graph, settings)
        self._run_graph = Graph(self.clone or self.graph.root, self.graph.stages)
        self._shards = Shards() if self.force else shards.check(self._run_graph, self._needs)
        self._gpu = Gpu(self.graph.root, self._waits)
        upstream = {name: stage.upstream for name, stage in self.graph.stages.items()}
        self._remaining = critical_path(upstream, history.expected(self.graph.root))
        self._room = Room(limits, self._remaining, self._gpu.take, self._gpu.release)
        self._attempts: Counter[str] = Counter()
        # Stages by the state of their tasks: begun, with an attempt underway, ended; ended without an attempt, to be
        # begun again; begun again.
        self._begun, self._underway, self._ended = set[str](), set[str](), set[str]()
        self._lost, self._retried = list[str](), set[str]()
        self._verdicts: dict[str, Verdict] = {}
        # Set when a task ended, so that another may begin.
        self._turn = threading.Event()
        self._failed_fast = ""
        self.affected = (
            list(self.graph.stages) if self.force else checks.affected(self.graph, self.clone is None)
        )

    @property
    def cancelled(self) -> bool:
        """Return true if the run was stopped from outside, and not by a failure."""
        return isinstance(self.stop, Stop) and self.stop.outside.is_set()

    @property
    def attempted(self) -> int:
        return len(self._attempts)

    def needs(self, name: str) -> Needs:
        return self._needs[name]

    def pauses(self, name: str) -> list[float]:
        """Seconds before each further attempt of the stage."""
        return [
            min(self._backoff * 2**number, LONGEST_PAUSE) for number in range(self._needs[name].attempts - 1)
        ]

    def again(self, name: str) -> bool:
        """Return true if a further attempt of a stage that failed may help."""
        result = self.results.get(name)
        tried = result is not None and result.exit_code not in (None, BAD_INPUT)
        return tried and self._attempts[name] < self._needs[name].attempts and not self.stop.is_set()

    def starts(self) -> Iterator[str]:
        """Yield each affected stage when its task is to begin, once those before it have ended and it has room.

        The task runs it by `attempt`, and `conclude` is called once the task has ended. Stages that are skipped are
        yielded as well, so that they are shown. A task that ended without an attempt is yielded once more. After a stop
        no stage begins. The iteration ends when no task runs.
        """
        # DVC looks first at the stage whose critical path is longest, which is also the first to get room.
        waiting = sorted(self.affected, key=lambda name: -self._remaining[name])
        while len(self._ended) < len(self.affected) and not self.stop.is_set():
            for name in [stage for stage in waiting if self._ended.issuperset(self.upstream(stage))]:
                if self.stop.is_set():
                    break
                waiting.remove(name)
                if self._is_ready(name):
                    yield self._begin(name)
                yield from self._granted()
            yield from self._granted()
            while self._lost:
                yield self._begin(self._lost.pop())
            self._turn.wait(LOOK_SECONDS)
            self._turn.clear()
        deadline = time.monotonic() + LAST_SECONDS
        while self._underway or (self._begun and time.monotonic() < deadline):
            self._turn.wait(STEP_SECONDS)
            self._turn.clear()
        for name in self.affected:
            # Also that of a task that ended without an attempt: the GPU's lease belongs to the process, not to the run.
            self._room.release(name)
            if name not in self.results:
                self._leave_out(name)

    def _granted(self) -> Iterator[str]:
        """Yield the stages that get room now."""
        while not self.stop.is_set() and (name := self._room.take()):
            yield self._begin(name)

    def _begin(self, name: str) -> str:
        self._begun.add(name)
        return name

    def _is_ready(self, name: str) -> bool:
        """Return true if a stage needs no room: it is skipped, or nothing is to be done. Others wait for room."""
        before = [self.results[earlier] for earlier in self.upstream(name)]
        if any(result.state not in GOOD for result in before):
            self._leave_out(name)
            return True
        try:
            stage = self.graph.stages[name]
            verdict = decide(stage, before, self.stages, self.stop, self.force)
        except Exception as error:
            verdict = Verdict("", result=_failed(name, error))
        self._verdicts[name] = verdict
        if verdict.result is None:
            self._room.queue(name, self._needs[name] if verdict.runs else Needs())
        return verdict.result is not None

    def attempt(self, name: str) -> Result:
        """Run a stage that has room if DVC says so, and check its outputs; returns the result, which the listener gets,
        too. Every attempt but the first runs the command.
        """
        self._attempts[name] += 1
        self._underway.add(name)
        try:
            stage, verdict = self.graph.stages[name], self._verdicts[name]
            if self.stop.is_set():
                result = Result(name, "stopped", error=self._stopped)
            elif verdict.result and self._attempts[name] == 1:
                result = verdict.result
            else:
                self.listen(Result(name, "running", why=verdict.why))
                log, lines, began = self._log(name), self._pass_on(name), time.monotonic()
                shared = self._share(stage, log, lines) if verdict.runs else None
                lease, earlier = self._gpu.descriptor(name), time.monotonic() - began
                result = shared or self.stages.run(name, log, lines, self.stop, lease, earlier, self.force)
                result = self._explained(result, verdict.why)
            result = self._checked(stage, result)
        except Exception as error:
            result = _failed(name, error)
        self._report(result)
        self._underway.discard(name)
        return self.results[name]

    def conclude(self, name: str, error: str = "") -> None:
        """Take note that the task of a stage has ended, and give back its room.

        If it ended without an attempt, for which `error` is the reason, it is begun once more; then the stage fails.
        """
        # Before it is said to be lost: from then on it may be begun again.
        self._begun.discard(name)
        if name not in self.results and not self.stop.is_set():
            if name in self._retried:
                self._report(Result(name, "failed", error=f"Prefect did not run its task: {error}"))
            else:
                self._retried.add(name)
                self._lost.append(name)
        if name in self.results:
            self._room.release(name)
            self._ended.add(name)
        self._turn.set()

    def fail(self, name: str, error: str) -> None:
        """Give a stage that was not attempted its result."""
        self._report(Result(name, "failed", error=error))

    def _leave_out(self, name: str) -> None:
        """Give a stage that does not run its result: skipped if one before it did not succeed, else stopped."""
        before = [self.results[earlier] for earlier in self.upstream(name) if earlier in self.results]
        bad = [result for result in before if result.state not in GOOD]
        if bad and bad[0].state != "stopped" and not self._failed_fast:
            cause = bad[0].error if bad[0].state == "skipped" else bad[0].stage
            self._report(Result(name, "skipped", why=f"needs {cause}", error=cause))
        else:
            self._report(Result(name, "stopped", error=self._stopped))

    def upstream(self, name: str) -> list[str]:
        """The nearest affected stages before a stage, in the order of the graph."""
        nearest: set[str] = set()
        beyond = list(self.graph.stages[name].upstream)
        while beyond:
            stage = beyond.pop()
            if stage in self.affected:
                nearest.add(stage)
            elif stage in self.graph.stages:
                beyond += self.graph.stages[stage].upstream
        return [stage for stage in self.graph.stages if stage in nearest]

    @property
    def _stopped(self) -> str:
        return f"stopped because {self._failed_fast} failed" if self._failed_fast else "the run was stopped"

    def _report(self, result: Result) -> None:
        self.results[result.stage] = result
        if result.state == "failed" and self.again(result.stage):
            number, pauses = self._attempts[result.stage], self.pauses(result.stage)
            line = f"attempt {number} of {len(pauses) + 1} failed ({result.error}); next in {pauses[number - 1]:g} s"
            self.listen(Result(result.stage, "running", why=line, lines=(line,)))
            return
        if result.state == "failed" and (number := self._attempts[result.stage]) > 1:
            result = self.results[result.stage] = replace(result, error=f"{result.error} ({number} attempts)")
        self.listen(result)
        if result.state == "failed" and not self.keep_going and not self.stop.is_set():
            self._failed_fast = result.stage
            self.stop.set()

    def _waits(self, stage: str, message: str) -> None:
        self.listen(Result(stage, "waiting", why=message))

    def _share(self, stage: Stage, log: Path, lines: Lines) -> Result | None:
        """Run the shares of a stage that has some; None, or its result if they failed."""
        if not self._needs[stage.name].shards or self._shards.count < 2:
            return None
        return shards.share(self._run_graph, stage, self._shards, log, lines, self.stop)

    def _explained(self, result: Result, why: str) -> Result:
        if result.state == "failed" and result.exit_code is not None:
            result = replace(result, error=f"exit status {result.exit_code}: {result.error}")
        if self.force and result.state in ("restored", "unchanged"):
            result = replace(result, state="failed", error="DVC did not run it; is it frozen?")
        if result.state == "unchanged":
            why = f"no difference in what it needs ({why})"
        if (number := self._attempts[result.stage]) > 1:
            why = f"after {number} attempts ({why})"
        return replace(result, why=why, log=Path(result.log).relative_to(self.graph.root).as_posix())

    def _checked(self, stage: Stage, result: Result) -> Result:
        good = result.state in GOOD and self.clone is None
        return checks.checked(self.graph.root, stage, result) if good else result

    def _log(self, name: str) -> Path:
        number = self._attempts[name]
        return self.logs / f"{safe_name(name)}{f'.attempt-{number}' if number > 1 else ''}.log"

    def _pass_on(self, name: str) -> Lines:
        return lambda lines: self.listen(Result(name, "running", why=lines[-1], lines=tuple(lines)))


def _failed(name: str, error: Exception) -> Result:
    """Return the result of a stage that raised an error; one that is no NightjarError has its traceback as lines."""
    if isinstance(error, NightjarError):
        return Result(name, "failed", error=str(error))
    lines = tuple("".join(traceback.format_exception(error)).splitlines())
    return Result(name, "failed", error=f"{type(error).__name__}: {error}", lines=lines)
