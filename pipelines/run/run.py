"""One run of the stages of a graph: what the task of a stage does, in a rebuild, a study and a night.

Prefect decides when a stage's task begins (pipelines/flows.py), DVC whether its command runs, and the room on the
machine how many commands run at once.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nightjar.core.config import PARAMS_FILE
from nightjar.core.errors import NightjarError
from nightjar.core.identity import safe_name
from nightjar.params.drivers import Rebuild, Shards
from pipelines.graph.graph import Graph, Stage, first_few
from pipelines.process.child import Lines
from pipelines.run import checks, resources, shards
from pipelines.run.resources import Gpu, Needs, Room, critical_path, lease_file
from pipelines.run.results import GOOD, Listener, Result
from pipelines.run.run_stage import Stages
from stages._runtime import history

# The pause before another attempt is doubled each time, up to this many seconds.
LONGEST_PAUSE = 300.0
# How often a wait looks for a stop from outside.
STEP_SECONDS = 0.1
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
        remaining = critical_path(upstream, history.expected(self.graph.root))
        self._room = Room(limits, remaining, self._gpu.take, self._gpu.release)
        self._attempts: Counter[str] = Counter()
        self._underway: set[str] = set()
        self._failed_fast = ""
        self.affected = (
            list(self.graph.stages) if self.force else checks.affected(self.graph, self.clone is None)
        )

    @property
    def cancelled(self) -> bool:
        """Return true if the run was stopped from outside, and not by a failure."""
        return isinstance(self.stop, Stop) and self.stop.outside.is_set()

    @property
    def busy(self) -> bool:
        return bool(self._underway)

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

    def attempt(self, name: str) -> Result:
        """Run a stage if DVC says so, and check its outputs; returns the result, which the listener gets, too."""
        stage = self.graph.stages[name]
        self._attempts[name] += 1
        self._underway.add(name)
        try:
            result, why, runs = self._decide(stage)
            if result is None:
                with self._room.taken(name, self._needs[name] if runs else Needs(), self.stop) as granted:
                    if granted:
                        self.listen(Result(name, "running", why=why))
                        log, lines, began = self._log(name), self._pass_on(name), time.monotonic()
                        result = self._share(stage, log, lines) if runs else None
                        if result is None:
                            lease, earlier = self._gpu.descriptor(name), time.monotonic() - began
                            result = self.stages.run(name, log, lines, self.stop, lease, earlier, self.force)
                        result = self._checked(stage, self._explained(result, why))
            result = result or Result(name, "stopped", error=self._stopped)
        except NightjarError as error:
            result = Result(name, "failed", error=str(error))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            result = Result(name, "failed", error=text, lines=tuple(traceback.format_exc().splitlines()))
        self._report(result)
        self._underway.discard(name)
        return self.results[name]

    def fail(self, name: str, error: str) -> None:
        """Give a stage that was not attempted its result."""
        self._report(Result(name, "failed", error=error))

    def leave_out(self, names: Iterable[str]) -> list[str]:
        """Give each of the stages `names`, whose tasks have ended and which were not attempted, its result: skipped if
        one before it did not succeed, stopped if the run was. Returns those of which neither is true.
        """
        lost = []
        for name in names:
            before = [self.results[stage] for stage in self.upstream(name) if stage in self.results]
            bad = [result for result in before if result.state not in GOOD]
            if bad and bad[0].state != "stopped" and not self._failed_fast:
                cause = bad[0].error if bad[0].state == "skipped" else bad[0].stage
                self._report(Result(name, "skipped", why=f"needs {cause}", error=cause))
            elif self.stop.is_set():
                self._report(Result(name, "stopped", error=self._stopped))
            else:
                lost.append(name)
        return lost

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

    def _decide(self, stage: Stage) -> tuple[Result | None, str, bool]:
        """The result of a stage that has nothing to do, or None; then why, and whether its command runs."""
        name = stage.name
        if self.stop.is_set():
            return Result(name, "stopped", error=self._stopped), "", False
        if self.force:
            return None, "force", True
        before = [self.results[earlier] for earlier in self.upstream(name) if earlier in self.results]
        reasons = _first_reasons(stage, [result for result in before if result.changed])
        # Nothing before it changed since the graph was read, so the state that was found then still holds.
        status: dict[str, Any] = {"state": stage.state}
        if self._attempts[name] > 1:
            status = {"state": "would run", "why": "it failed"}
        elif stage.state != "would run" or any(reason.kind == "upstream" for reason in stage.reasons):
            status = self.stages.status(name, self.stop)
        if status["state"] in ("failed", "stopped"):
            return Result(name, status["state"], why=reasons, error=status["error"]), reasons, False
        if status["state"] == "would fail":  # DVC would fail with an exception of Python
            return Result(name, "failed", why=reasons, error=status["why"]), reasons, False
        if status["state"] == "up to date":
            why = f"no difference in what it needs ({reasons})" if reasons else "nothing changed"
            return self._checked(stage, Result(name, "unchanged", why=why)), why, False
        return None, reasons or status["why"], status["state"] == "would run"

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


def _first_reasons(stage: Stage, changed: list[Result]) -> str:
    """Why a stage may have changed, as far as is known without DVC, in a few words: the first of its own reasons, or of
    the stages before it that `changed`.
    """
    reasons = [str(reason) for reason in stage.reasons if reason.kind != "upstream"]
    reasons = reasons or [f"{it.stage} {'ran' if it.state == 'ran' else 'was restored'}" for it in changed]
    return first_few(reasons, "; ", 1)
