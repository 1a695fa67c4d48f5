"""Runs the calls of several tools: in threads, in batches, with a time limit and a cache for each tool.

A tool that raises, hangs, or returns what is no result costs only the call that caused it: where a batch fails, each of
its requests is run alone. A thread cannot be stopped in Python: one that exceeds the limit is abandoned, and may still
run beside later ones.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future
from datetime import date
from threading import Lock, Thread
from typing import Any

from nightjar.core.errors import NightjarError
from nightjar.tools.syntax import Call
from nightjar.tools.tool import Request, Tool

# Seconds a batch may take, and characters a result may have.
SECONDS, LONGEST = 30.0, 1000
# Results kept for each tool; the oldest are dropped first.
MOST_CACHED = 10_000
# A tool with so many abandoned threads that still run is not run again until one of them ends.
MOST_ABANDONED = 4

log = logging.getLogger("nightjar")


class Toolbox:
    """Tools by their names in calls, such as Calculator.

    `seconds`: how long one batch of a tool may take. `longest`: characters of a result; a longer one is none. Results
    are cached by tool, version, input and the context that the tool uses. `problems` counts the calls that failed, by
    tool and kind. Raises NightjarError if two tools have one name.
    """

    def __init__(self, tools: Iterable[Tool], seconds: float = SECONDS, longest: int = LONGEST) -> None:
        self.problems: Counter[str] = Counter()
        self._queues: dict[str, _Queue] = {}
        for tool in tools:
            if tool.name in self._queues:
                raise NightjarError("two tools have this name", repr(tool.name), "leave one of them out")
            self._queues[tool.name] = _Queue(tool, seconds, longest, self.problems)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that calls are written with."""
        return tuple(self._queues)

    @property
    def versions(self) -> dict[str, str]:
        """The version of each tool by its name: results may differ where these do."""
        return {name: queue.tool.version for name, queue in self._queues.items()}

    def without(self, names: Collection[str]) -> Toolbox:
        """The same tools, queues and caches without those of these names."""
        left = Toolbox([])
        left.problems = self.problems
        left._queues = {name: queue for name, queue in self._queues.items() if name not in names}
        return left

    def ask(self, call: Call, day: date | None = None, text: str = "") -> Future[str | None]:
        """Queue `call` and return at once; the future has its result on one line, or None if there is none.

        `day` and `text` are the context of the call (see Request).
        """
        queue = self._queues.get(call.tool)
        if queue is None:
            future: Future[str | None] = Future()
            future.set_result(None)
            return future
        uses = queue.tool.uses
        return queue.ask(Request(call.input, day if "day" in uses else None, text if "text" in uses else ""))

    def run(self, calls: Iterable[Call], day: date | None = None, text: str = "") -> list[str | None]:
        """The results of `calls`, in order, once all are there."""
        futures = [self.ask(call, day, text) for call in calls]
        return [future.result() for future in futures]


class _Queue:
    """What one tool was asked: a thread works on it, batch by batch, while there is something to do."""

    def __init__(self, tool: Tool, seconds: float, longest: int, problems: Counter[str]) -> None:
        self.tool, self.seconds, self.longest, self.problems = tool, seconds, longest, problems
        self.lock = Lock()
        self.busy = False
        self.waiting: list[tuple[Request, Future[str | None]]] = []
        self.answers: dict[Request, Future[str | None]] = {}
        self.abandoned: list[Thread] = []

    def ask(self, request: Request) -> Future[str | None]:
        with self.lock:
            if request in self.answers:
                return self.answers[request]
            if len(self.answers) >= MOST_CACHED:
                del self.answers[next(iter(self.answers))]
            future = self.answers[request] = Future[str | None]()
            self.waiting.append((request, future))
            if not self.busy:
                self.busy = True
                Thread(target=self._work, name=f"tool {self.tool.name}", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            with self.lock:
                batch, self.waiting = self.waiting, []
                if not batch:
                    self.busy = False
                    return
            results = self._results([request for request, _ in batch])
            for (request, future), result in zip(batch, results, strict=True):
                if isinstance(result, _Problem):
                    with self.lock:
                        self.answers.pop(request, None)  # it may succeed another time
                    self._report(result)
                    future.set_result(None)
                else:
                    future.set_result(result)

    def _results(self, batch: Sequence[Request]) -> Sequence[str | _Problem | None]:
        try:
            found = self._run(batch)
        except RuntimeError as error:  # no more threads
            return [_Problem("not run", str(error))] * len(batch)
        if not isinstance(found, _Problem):
            return [self._checked(value) for value in found]
        if len(batch) == 1:
            return [found]
        return [self._results([request])[0] for request in batch]

    def _run(self, batch: Sequence[Request]) -> Sequence[Any] | _Problem:
        """One run of the tool, in a thread that is abandoned when the time is over."""
        self.abandoned = [thread for thread in self.abandoned if thread.is_alive()]
        if len(self.abandoned) >= MOST_ABANDONED:
            return _Problem("not run", f"{MOST_ABANDONED} runs that exceeded their time are still running")
        outcome: list[Any] = []

        def run() -> None:
            try:
                outcome.append(self.tool.run(batch))
            except Exception as error:
                outcome.append(_Problem("failed", f"{type(error).__name__}: {error}"))

        thread = Thread(target=run, name=f"run of {self.tool.name}", daemon=True)
        thread.start()
        thread.join(self.seconds)
        if thread.is_alive():
            self.abandoned.append(thread)
            return _Problem("too slow", f"no result after {self.seconds:g} s")
        found = outcome[0] if outcome else _Problem("failed", "its thread exited")
        if isinstance(found, _Problem):
            return found
        if not isinstance(found, list | tuple) or len(found) != len(batch):
            return _Problem("failed", f"{type(found).__name__} instead of a list of {len(batch)} results")
        return found

    def _checked(self, value: Any) -> str | _Problem | None:
        """A result on one line, as it is written into a text."""
        if value is None:
            return None
        if not isinstance(value, str):
            return _Problem("failed", f"a result is of type {type(value).__name__}, not a text")
        line = " ".join(value.split())
        if len(line) > self.longest:
            return _Problem("too long", f"a result of {len(line):,} characters, at most {self.longest:,}")
        return line or None

    def _report(self, problem: _Problem) -> None:
        """Count the problem; of each kind the first is logged."""
        kind = f"{self.tool.name}: {problem.kind}"
        self.problems[kind] += 1
        if self.problems[kind] == 1:
            log.warning("tool %s %s: %s", self.tool.name, problem.kind, problem.what[:200])


class _Problem:
    """Why a call failed: its kind, and what happened."""

    def __init__(self, kind: str, what: str) -> None:
        self.kind, self.what = kind, what
