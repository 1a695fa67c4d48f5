"""What a rebuild looks like on a terminal, and in a file."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text

from nightjar.core.display import printable
from nightjar.core.json_text import read
from pipelines.commands.console import console, say, say_json, say_table, say_text
from pipelines.execution.counts import counted
from pipelines.execution.estimate import duration
from pipelines.execution.headline import HEADLINE, REPORT
from pipelines.graph.graph import Graph

if TYPE_CHECKING:
    from pipelines.execution.results import Result
    from pipelines.graph.leftovers import Leftover

# Stages say ten times how far they are: a speed is taken from all that they said in this time.
SPEED_SECONDS = 24 * 3600.0
COLOURS = {"ran": "green", "restored": "cyan", "unchanged": "cyan"}
COLOURS |= {"failed": "bold red", "skipped": "yellow", "stopped": "yellow"}


class _Counts(MofNCompleteColumn):
    """How many of how many things are done; empty where a stage does not say."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task)


class _Left(TimeRemainingColumn):
    """The time left: of a stage by its own speed, of all stages as `seconds` of the task says."""

    def render(self, task: Task) -> Text:
        if "seconds" not in task.fields:
            return super().render(task)
        seconds = task.fields["seconds"]()
        return Text("" if seconds is None else f"{duration(seconds)} left", style="progress.remaining")


class Work:
    """How much of the expected work of a rebuild is left: the expected seconds of its stages that are not done.

    `seconds` are those of each stage that may have to run, `clock` those by the clock of all together.
    """

    def __init__(self, seconds: Mapping[str, float], clock: float) -> None:
        self._seconds = dict(seconds)
        self._clock = clock
        self._whole = sum(seconds.values())
        self._shares: dict[str, float] = {}
        self._started: dict[str, float] = {}

    def running(self, stage: str, count: tuple[int, int] | None) -> None:
        """Take note that a stage runs, and how many of how many things it has done, if it said so."""
        self._started.setdefault(stage, time.monotonic())
        if count is not None:
            self._shares[stage] = count[0] / count[1]

    def ended(self, stage: str) -> None:
        """Take note that a stage has ended."""
        self._seconds.pop(stage, None)

    def left(self) -> float:
        """Seconds by the clock. A stage that says nothing of its progress is as far as the time it has taken."""
        now, left = time.monotonic(), 0.0
        for stage, seconds in list(self._seconds.items()):  # stages end in other threads
            done = self._shares.get(stage)
            if done is None:
                done = min(1.0, (now - self._started.get(stage, now)) / seconds) if seconds else 1.0
            left += (1 - done) * seconds
        return self._clock * left / self._whole if self._whole else 0.0


class Progress:
    """Shows the results of a rebuild as they come: bars on a terminal, one line a stage elsewhere.

    `work` is what is expected of the whole rebuild; None where that is not known.
    """

    def __init__(self, graph: Graph, verbose: bool, stderr: bool = False, work: Work | None = None) -> None:
        self.results: list[Result] = []
        self._work = work
        self._verbose = verbose
        self._lock = threading.Lock()
        self._console = console(stderr, width=200)
        self._bars = Bars(
            TextColumn("{task.fields[stage]}", markup=False),
            BarColumn(bar_width=20),
            _Counts(),
            TimeElapsedColumn(),
            _Left(),
            TextColumn("{task.fields[line]}", markup=False),
            console=self._console,
            transient=True,
            speed_estimate_period=SPEED_SECONDS,
            disable=not self._console.is_terminal,
        )
        left: Any = work.left if work else lambda: None
        self._whole = self._add("all stages", total=len(graph.stages), seconds=left)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def tell(self, result: Result) -> None:
        """Record and show the result of a stage; called from several threads."""
        with self._lock:
            if result.state == "waiting":
                self._say(f"{result.stage}: {result.why}")
            elif result.state == "running":
                self._running(result)
            else:
                self._ended(result)

    def _add(self, stage: str, total: int | None = None, **fields: Any) -> TaskID:
        return self._bars.add_task("", total=total, stage=printable(stage), line="", **fields)

    def _running(self, result: Result) -> None:
        first = result.stage not in self._tasks
        count = counted(result.why)
        if self._work is not None:
            self._work.running(result.stage, count)
        if first:
            self._tasks[result.stage] = self._add(result.stage)
        done, whole = count or (None, None)
        task: Any = self._tasks[result.stage]
        self._bars.update(task, line=printable(result.why[:80]), completed=done, total=whole)
        if self._verbose or (first and self._bars.disable):
            self._say(f"{result.stage}: {'starts: ' if first else ''}{result.why}")

    def _ended(self, result: Result) -> None:
        self.results.append(result)
        if self._work is not None:
            self._work.ended(result.stage)
        if result.stage in self._tasks:
            self._bars.remove_task(self._tasks[result.stage])
        self._bars.advance(self._whole)
        state = (result.state, COLOURS[result.state])
        self._say(f"{result.stage}: ", state, f" {result.seconds:.1f} s  {_text(result)}")

    def _say(self, *parts: str | tuple[str, str]) -> None:
        """Print one line of texts, and of texts with their styles."""
        pieces = [(part, "") if isinstance(part, str) else part for part in parts]
        line = Text.assemble(*((printable(text), style) for text, style in pieces))
        self._console.print(line, soft_wrap=True)


def _text(result: Result) -> str:
    if result.state == "failed":
        return f"{result.error} (log: {result.log})" if result.log else result.error
    if result.state == "skipped":
        return f"{result.error} before it did not succeed"
    return result.error or result.why


def summary(results: list[Result]) -> None:
    """Print the table of stages, in the order in which they ended."""
    say()
    rows = [{"stage": it.stage, "state": it.state, "seconds": f"{it.seconds:.1f}"} for it in results]
    say_table(rows, right=("seconds",), colours={"state": COLOURS})


def headline(root: Path, stale: str) -> None:
    """Print the report's headline table and where the report is, if there is one; if it is `stale`, that line."""
    if stale:
        say()
        say(stale)
        return
    if (root / REPORT).is_file():
        say()
        say(f"The report: {REPORT}")
    if (root / HEADLINE).is_file():
        say_text((root / HEADLINE).read_text(encoding="utf-8", errors="replace").rstrip())


def as_json(root: Path, stages: list[dict[str, Any]], stale: str, left: Iterable[Leftover] = ()) -> None:
    """Print the results of the stages, where the report is, its headline, and what was `left`, as one JSON object.

    If the scores are stale, the headline is null and `headline_stale` is the line `stale`, else that is null.
    """
    report = REPORT.as_posix() if (root / REPORT).is_file() else None
    scores = root / HEADLINE.with_suffix(".json")
    rows = None
    if scores.is_file() and not stale:
        rows = read(scores, "delete it and run the stage report again", constants=True)
    whole = {"stages": stages, "report": report, "headline": rows, "headline_stale": stale or None}
    whole["leftovers"] = [it.as_json() for it in left]
    say_json(whole)
