"""Runs the calls of several tools: in threads, in batches, with a time limit and a cache for each tool.

A tool that raises, hangs, or returns what is no result costs only the call that caused it: where a batch fails, each of
its requests is run alone. A thread cannot be stopped in Python: one that exceeds the limit is abandoned, and may still
run beside later ones.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future
from copy import copy
from dataclasses import dataclass
from datetime import date
from threading import Lock, Thread
from typing import Any

from nightjar.core.display import printable
from nightjar.core.errors import NightjarError, explain
from nightjar.tools.syntax import Call
from nightjar.tools.tool import Tool, ToolRequest

# Characters that a result may have.
LONGEST = 1000
# Results kept for each tool; the oldest are dropped first.
MOST_CACHED = 10_000
# A tool with so many abandoned threads that still run is not run again until one of them ends.
MOST_ABANDONED = 4

# Characters of a result that are looked at; what is longer is refused unread.
MOST_READ = 100_000
# Control characters, and halves of surrogate pairs, which no tokenizer can encode.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

log = logging.getLogger("nightjar")


@dataclass(frozen=True)
class Executed:
    """A call that was run, and its result. text[start:end] of the answer is the call with its markers and the blank
    before it; both are 0 where the place is not known.
    """

    tool: str
    input: str
    result: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Answered:
    """An answer: `text` as decoded, `prediction` without the calls that were run, and these calls in order.

    `tokens`: how many the model wrote, attempts taken back included. `failure`: as of a `Text`.
    """

    text: str
    prediction: str
    calls: tuple[Executed, ...]
    tokens: int
    failure: str = ""


class Toolbox:
    """Tools by their names in calls, such as Calculator.

    `seconds`: how long one batch may take, in the place of each tool's own limit. `longest`: characters of a result; a
    longer one is none. Of each tool the latest `cached` results are kept, by version, input and the context that the
    tool uses. `problems` counts the calls that failed, by tool and kind.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        seconds: float | None = None,
        longest: int = LONGEST,
        cached: int = MOST_CACHED,
    ) -> None:
        self.problems: Counter[str] = Counter()
        self._queues: dict[str, _Queue] = {}
        for tool in tools:
            if tool.name in self._queues:
                raise NightjarError("two tools have this name", repr(tool.name), "leave one of them out")
            limit = tool.seconds if seconds is None else seconds
            self._queues[tool.name] = _Queue(tool, limit, longest, cached, self.problems)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that calls are written with."""
        return tuple(self._queues)

    @property
    def versions(self) -> dict[str, str]:
        """The version of each tool by its name: results may differ where these do."""
        return {name: queue.tool.version for name, queue in self._queues.items()}

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """The tools as functions that a chat model calls."""
        return [queue.tool.schema for queue in self._queues.values()]

    def without(self, names: Collection[str]) -> Toolbox:
        """The same tools, queues and caches without those of these names."""
        remaining = copy(self)
        remaining._queues = {name: queue for name, queue in self._queues.items() if name not in names}
        return remaining

    def ask(self, call: Call, day: date | None = None, text: str = "") -> Future[str | None]:
        """Queue `call` and return at once; the future has its result on one line, or None if there is none.

        `day` and `text` are the context of the call (see `ToolRequest`).
        """
        return self._ask([call], day, text)[0]

    def run(self, calls: Iterable[Call], day: date | None = None, text: str = "") -> list[str | None]:
        """The results of `calls`, in order, once all are there. A tool gets those that are not cached in one batch."""
        return [future.result() for future in self._ask(list(calls), day, text)]

    def _ask(self, calls: Sequence[Call], day: date | None, text: str) -> list[Future[str | None]]:
        futures: list[Future[str | None]] = [Future() for _ in calls]
        places: dict[str, list[int]] = {}
        for place, call in enumerate(calls):
            if call.tool in self._queues:
                places.setdefault(call.tool, []).append(place)
            else:
                futures[place].set_result(None)
        for name, tool_places in places.items():
            queue = self._queues[name]
            used_day = day if "day" in queue.tool.uses else None
            used_text = text if "text" in queue.tool.uses else ""
            results = queue.ask(
                [ToolRequest(calls[place].input, used_day, used_text) for place in tool_places]
            )
            for place, future in zip(tool_places, results, strict=True):
                futures[place] = future
        return futures


class _Queue:
    """The queue of requests to one tool: a thread works on it, batch by batch, while there is something to do."""

    def __init__(self, tool: Tool, seconds: float, longest: int, cached: int, problems: Counter[str]) -> None:
        self.tool, self.seconds, self.longest, self.problems = tool, seconds, longest, problems
        self.cached = cached
        self.lock = Lock()
        self.busy = False
        self.waiting: list[tuple[ToolRequest, Future[str | None]]] = []
        self.answers: dict[ToolRequest, Future[str | None]] = {}
        self.abandoned: list[Thread] = []

    def ask(self, requests: Sequence[ToolRequest]) -> list[Future[str | None]]:
        with self.lock:
            futures = [self._future(request) for request in requests]
            if self.waiting and not self.busy:
                self.busy = True
                Thread(target=self._work, name=f"tool {self.tool.name}", daemon=True).start()
        return futures

    def _future(self, request: ToolRequest) -> Future[str | None]:
        if request in self.answers:
            return self.answers[request]
        if len(self.answers) >= self.cached:
            del self.answers[next(iter(self.answers))]
        future = self.answers[request] = Future[str | None]()
        self.waiting.append((request, future))
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

    def _results(self, batch: Sequence[ToolRequest]) -> Sequence[str | _Problem | None]:
        try:
            outcome = self._run(batch)
        except RuntimeError as error:  # no more threads
            return [_Problem("not run", str(error))] * len(batch)
        if not isinstance(outcome, _Problem):
            return [self._checked(value) for value in outcome]
        if len(batch) == 1:
            return [outcome]
        return [self._results([request])[0] for request in batch]

    def _run(self, batch: Sequence[ToolRequest]) -> Sequence[Any] | _Problem:
        """One run of the tool, in a thread that is abandoned when the time is over."""
        self.abandoned = [thread for thread in self.abandoned if thread.is_alive()]
        if len(self.abandoned) >= MOST_ABANDONED:
            return _Problem("not run", f"{MOST_ABANDONED} runs that exceeded their time are still running")
        outcome: list[Any] = []

        def run() -> None:
            try:
                outcome.append(self.tool.run(batch))
            except Exception as error:
                outcome.append(_Problem("failed", explain(error)))

        thread = Thread(target=run, name=f"run of {self.tool.name}", daemon=True)
        thread.start()
        thread.join(self.seconds)
        if thread.is_alive():
            self.abandoned.append(thread)
            return _Problem("too slow", f"no result after {self.seconds:g} s")
        results = outcome[0] if outcome else _Problem("failed", "its thread exited")
        if isinstance(results, _Problem):
            return results
        if not isinstance(results, list | tuple) or len(results) != len(batch):
            return _Problem("failed", f"{type(results).__name__} instead of a list of {len(batch)} results")
        return results

    def _checked(self, value: Any) -> str | _Problem | None:
        """A result on one line, as it is written into a text."""
        if value is None:
            return None
        if not isinstance(value, str):
            return _Problem("failed", f"a result is of type {type(value).__name__}, not a text")
        if len(value) > MOST_READ:
            return _Problem("too long", f"a result of {len(value):,} characters, at most {self.longest:,}")
        line = " ".join(_UNPRINTABLE.sub(" ", value).split())
        if len(line) > self.longest:
            return _Problem("too long", f"a result of {len(line):,} characters, at most {self.longest:,}")
        return line or None

    def _report(self, problem: _Problem) -> None:
        """Count the problem; of each kind the first is logged."""
        kind = f"{self.tool.name}: {problem.kind}"
        self.problems[kind] += 1
        if self.problems[kind] == 1:
            # Python's own handler of a program without one writes a text as it is.
            log.warning("tool %s %s: %s", self.tool.name, problem.kind, printable(problem.what))


class _Problem:
    """Why a call failed: its kind, and what happened."""

    def __init__(self, kind: str, what: str) -> None:
        self.kind, self.what = kind, what
