"""What a rebuild looks like on a terminal, and in a file."""

from __future__ import annotations

import contextlib
import shlex
import threading
from collections.abc import Collection, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from nightjar.core.display import printable
from nightjar.core.json_text import read
from pipelines.commands.console import console, say, say_json, say_table, say_text
from pipelines.graph.graph import Graph, Stage
from pipelines.graph.leftovers import Leftover
from pipelines.run.report import HEADLINE, REPORT, report_stages
from pipelines.run.results import Result, counted
from stages._runtime import history

# Stages say ten times how far they are: a speed is taken from all that they said in this time.
SPEED_SECONDS = 24 * 3600.0
COLOURS = {"ran": "green", "restored": "cyan", "unchanged": "cyan"}
COLOURS |= {"failed": "bold red", "skipped": "yellow", "stopped": "yellow"}


class Progress(contextlib.ExitStack):
    """Shows the results of a rebuild as they come: bars on a terminal, one line a stage elsewhere.

    The bar of all stages measures those that are `ahead` by the seconds that they took here before, if these are known
    of all of them, else by their number. A stage is as far as it counts itself ("40 of 200 instances").
    """

    def __init__(self, graph: Graph, ahead: Collection[str], verbose: bool, stderr: bool = False) -> None:
        super().__init__()
        self.results: list[Result] = []
        seconds = history.expected(graph.root)
        known = seconds.keys() >= set(ahead)
        self._work = {name: seconds[name] if known else 1.0 for name in ahead}
        self._done: dict[str, float] = {}
        self._count = len(graph.stages)
        self._verbose = verbose
        self._lock = threading.Lock()
        self._console = console(stderr, width=200)
        self._bars = Bars(
            TextColumn("{task.fields[stage]}", markup=False),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[line]}", markup=False),
            console=self._console,
            transient=True,
            speed_estimate_period=SPEED_SECONDS,
            disable=not self._console.is_terminal,
        )
        self._whole = self._add("all stages", sum(self._work.values()))
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self.enter_context(self._bars)
        return super().__enter__()

    def tell(self, result: Result) -> None:
        """Record and show the result of a stage; called from several threads."""
        with self._lock:
            if result.state == "waiting":
                self._say(f"{result.stage}: {result.why}")
            elif result.state == "running":
                self._running(result)
            else:
                self._ended(result)

    def _add(self, stage: str, total: float | None = None) -> TaskID:
        return self._bars.add_task("", total=total, stage=printable(stage), line="")

    def _advance(self, stage: str, share: float) -> None:
        self._done[stage] = share * self._work.get(stage, 0.0)
        line = f"{len(self.results)} of {self._count} stages"
        whole, done = sum(self._work.values()), sum(self._done.values())
        self._bars.update(self._whole, completed=done, total=whole, line=line)

    def _running(self, result: Result) -> None:
        first = result.stage not in self._tasks
        if first:
            self._tasks[result.stage] = self._add(result.stage)
        task = self._tasks[result.stage]
        self._bars.update(task, line=printable(result.why[:80]))
        if count := counted(result.why):
            self._bars.update(task, completed=count[0], total=count[1])
            self._advance(result.stage, count[0] / count[1])
        if self._verbose or (first and self._bars.disable):
            self._say(f"{result.stage}: {'starts: ' if first else ''}{result.why}")

    def _ended(self, result: Result) -> None:
        self.results.append(result)
        if result.stage in self._tasks:
            self._bars.remove_task(self._tasks[result.stage])
        if result.state != "ran":  # it says nothing of the time that others take
            self._work.pop(result.stage, None)
        self._advance(result.stage, 1.0)
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


def summary(graph: Graph, results: list[Result]) -> None:
    """Print the table of stages, in the order in which they ended, and how to restore what failed stages had made."""
    say()
    rows = [{"stage": it.stage, "state": it.state, "seconds": f"{it.seconds:.1f}"} for it in results]
    say_table(rows, right=("seconds",), colours={"state": COLOURS})
    restored = report_stages(graph)
    for it in results:
        # DVC removes the outputs of a stage before its command runs; dvc.lock still names the last good ones.
        removed = it.state == "failed" and it.exit_code is not None and it.stage not in restored
        if removed and all(reason.kind != "new" for reason in graph.stages[it.stage].reasons):
            say(
                f"The last good output of {it.stage} comes back with: dvc checkout --force {shlex.quote(it.stage)}"
            )


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
    stages = list(stages)
    if not any((root / out / "scores").is_dir() for stage in stages for out in stage.outs):
        return
    from pipelines.history import scores as history_of_scores  # here, not above: Arrow takes long to load

    first: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in history_of_scores.present(root, stages):
        first.setdefault((row["benchmark"], row["track"], row["system"]), row)
    if first:
        say()
    names = ("benchmark", "track", "system", "metric")
    say_table(
        [
            {name: row[name] for name in names} | {"score": history_of_scores.text(row)}
            for row in first.values()
        ]
    )


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
    whole["leftovers"] = [asdict(it) for it in left]
    say_json(whole)
