"""The display of a rebuild on a terminal, and in a file."""

from __future__ import annotations

import contextlib
import shlex
import threading
from collections.abc import Collection, Iterable
from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import Any, Self

from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from nightjar.core.display import duration, printable
from nightjar.core.json_text import read
from pipelines.commands.console import STYLES, console, say, say_table, say_text
from pipelines.graph.graph import Graph, Stage
from pipelines.graph.leftovers import Leftover
from pipelines.history.score_tables import read_scores
from pipelines.run.report import HEADLINE, REPORT, report_stages
from pipelines.run.results import End, Result, counted
from stages._runtime import history

# Stages say ten times how far they are: a speed is taken from all that they said in this time.
SPEED_SECONDS = 24 * 3600.0
# Of the reason, in characters.
LONGEST = 72


class Progress(contextlib.ExitStack):
    """Shows the stages of a rebuild as they end, a line each, and on a terminal a bar of those that run.

    The bar of all stages measures those that are `ahead` by the seconds that they took here before, if these are known
    of all of them, else by their number. A stage is as far as it counts itself ("40 of 200 instances"). Stages that a
    failure or a stop left out are in the `summary`. A `quiet` one has lines only for failures.
    """

    def __init__(
        self, root: Path, ahead: Collection[str], verbose: bool, stderr: bool = False, quiet: bool = False
    ) -> None:
        super().__init__()
        self.results: list[Result] = []
        seconds = history.expected(root)
        all_expected = seconds.keys() >= set(ahead)
        self._ahead = frozenset(ahead)
        self._work = {name: seconds[name] if all_expected else 1.0 for name in ahead}
        self._done: dict[str, float] = {}
        self._verbose, self._quiet = verbose, quiet and not verbose
        self._lock = threading.Lock()
        self._console = console(stderr)
        self._bars = Bars(
            TextColumn("{task.fields[stage]}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[count]}", markup=False),
            TimeRemainingColumn(compact=True),
            console=self._console,
            transient=True,
            speed_estimate_period=SPEED_SECONDS,
            disable=not self._console.is_terminal,
        )
        self._all_stages = self._add("all stages", sum(self._work.values()), self._count())
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self.enter_context(self._bars)
        return super().__enter__()

    def update(self, result: Result) -> None:
        """Record and show the result of a stage; called from several threads."""
        with self._lock:
            if result.state == "waiting":
                self._say(f"{result.stage}: {result.why}")
            elif result.state == "running":
                self._running(result)
            else:
                self._ended(result)

    def summary(self, run_end: End) -> str:
        """The end of the run in one line, with what ran when it was stopped, and what failures left out."""
        running = ", ".join(it.stage for it in self.results if it.state == "stopped" and it.log)
        causes = ", ".join(dict.fromkeys(it.error for it in self.results if it.state == "skipped"))
        details = [causes and f"not run because of {causes}", running and f"ended while running: {running}"]
        return run_end.message + "".join(f"; {it}" for it in details if it)

    def _count(self) -> str:
        return f"{sum(it.stage in self._ahead for it in self.results)} of {len(self._ahead)}"

    def _add(self, stage: str, total: float | None = None, count: str = "") -> TaskID:
        return self._bars.add_task("", total=total, stage=printable(stage), count=count)

    def _advance(self, stage: str, share: float) -> None:
        self._done[stage] = share * self._work.get(stage, 0.0)
        total, done = sum(self._work.values()), sum(self._done.values())
        self._bars.update(self._all_stages, completed=done, total=total, count=self._count())

    def _running(self, result: Result) -> None:
        first = result.stage not in self._tasks
        if first:
            self._tasks[result.stage] = self._add(result.stage)
        if count := counted(result.why):
            task, (done, total) = self._tasks[result.stage], count
            self._bars.update(task, completed=done, total=total, count=f"{done:,} of {total:,}")
            self._advance(result.stage, done / total)
        if self._verbose:
            self._say(f"{result.stage}: {'starts: ' if first else ''}{result.why}")

    def _ended(self, result: Result) -> None:
        self.results.append(result)
        if result.stage in self._tasks:
            self._bars.remove_task(self._tasks[result.stage])
        if result.state != "ran":  # it says nothing of the time that others take
            self._work.pop(result.stage, None)
        self._advance(result.stage, 1.0)
        failed = result.state == "failed"
        if result.state in ("skipped", "stopped") or (self._quiet and not failed):
            return
        remaining = self._bars.tasks[0].time_remaining
        ahead = f", {duration(remaining)} left" if remaining else ""
        count = f"{self._count().rjust(2 * len(str(len(self._ahead))) + 4)}{ahead:<13}"
        seconds = f"{result.seconds:.1f} s" if result.seconds < 100 else duration(result.seconds)
        text = f"{result.error} (log: {result.log})" if result.log else result.error
        if not failed:
            room = self._console.width - len(count) - len(result.stage) - 25
            why = result.why.removeprefix("params.yaml:")
            text = shorten(why, max(4, min(room, LONGEST)), placeholder=" …")
        state = (f"{result.state:<9}", STYLES[result.state])
        self._say(f"{count}  ", state, f"  {seconds:>8}  {result.stage}{f'  {text}' if text else ''}")

    def _say(self, *parts: str | tuple[str, str]) -> None:
        pieces = [(part, "") if isinstance(part, str) else part for part in parts]
        self._console.print(Text.assemble(*((printable(text), style) for text, style in pieces)))


def restoring(graph: Graph, results: Iterable[Result]) -> None:
    """Print how to restore what failed stages had made."""
    restored = report_stages(graph)
    for result in results:
        # DVC removes the outputs of a stage before its command runs; dvc.lock still names the last good ones.
        removed = result.state == "failed" and result.exit_code is not None and result.stage not in restored
        if removed and all(reason.kind != "new" for reason in graph.stages[result.stage].reasons):
            command = f"dvc checkout --force {shlex.quote(result.stage)}"
            say(f"The last good output of {result.stage} comes back with: {command}")


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


def scores(root: Path, stages: Iterable[Stage]) -> None:
    """Print the first metric of each system and track in the tables of scores that the stages made."""
    if lines := read_scores(root, stages).first_metrics().lines(more=0):
        say()
    say_table(lines, right=("score",))


def summary_of(
    root: Path, stages: list[dict[str, Any]], stale: str, leftover: Iterable[Leftover] = ()
) -> dict[str, Any]:
    """Return the results of the stages, where the report is, its headline, and what was `leftover`.

    If the scores are stale, the headline is null and `headline_stale` is the line `stale`, else that is null.
    """
    report = REPORT.as_posix() if (root / REPORT).is_file() else None
    scores = root / HEADLINE.with_suffix(".json")
    rows = None
    if scores.is_file() and not stale:
        rows = read(scores, "delete it and run the stage report again", constants=True)
    facts = {"stages": stages, "report": report, "headline": rows, "headline_stale": stale or None}
    return facts | {"leftovers": [asdict(it) for it in leftover]}
