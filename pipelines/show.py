"""What a rebuild looks like on a terminal, and in a file."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from pipelines.graph import Graph
from stages.json_text import read

if TYPE_CHECKING:
    from pipelines.results import Result

HEADLINE = Path("data/report/headline.txt")
REPORT = Path("data/report/index.html")
COLOURS = {"ran": "green", "cached": "cyan", "failed": "bold red", "skipped": "yellow", "stopped": "yellow"}


class Progress:
    """Shows the results of a rebuild as they come: bars on a terminal, one line a stage elsewhere."""

    def __init__(self, graph: Graph, verbose: bool, stderr: bool = False) -> None:
        self.results: list[Result] = []
        self._verbose = verbose
        self._lock = threading.Lock()
        shown = sys.stderr if stderr else sys.stdout
        self._console = Console(highlight=False, stderr=stderr, width=None if shown.isatty() else 200)
        self._bars: Bars | None = None
        if self._console.is_terminal:
            self._bars = Bars(
                TextColumn("{task.fields[stage]}"),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[line]}"),
                console=self._console,
                transient=True,
            )
            self._whole = self._bars.add_task("", total=len(graph.stages), stage="all stages", line="")
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> Progress:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def tell(self, result: Result) -> None:
        """Take note of what became of a stage; called from several threads."""
        with self._lock:
            if result.state == "waiting":
                self._console.print(escape(f"{result.stage}: {result.why}"), soft_wrap=True)
            elif result.state == "running":
                self._running(result)
            else:
                self._ended(result)

    def _running(self, result: Result) -> None:
        first = result.stage not in self._tasks
        if self._bars is not None:
            line = escape(result.why[:80])
            if first:
                self._tasks[result.stage] = self._bars.add_task("", total=None, stage=result.stage, line=line)
            self._bars.update(self._tasks[result.stage], line=line)  # type: ignore[arg-type]
        else:
            self._tasks[result.stage] = 0
        if self._verbose or (first and self._bars is None):
            word = "starts: " if first else ""
            self._console.print(f"{escape(result.stage)}: {word}{escape(result.why)}", soft_wrap=True)

    def _ended(self, result: Result) -> None:
        self.results.append(result)
        if self._bars is not None:
            if result.stage in self._tasks:
                self._bars.remove_task(self._tasks[result.stage])  # type: ignore[arg-type]
            self._bars.advance(self._whole)
        colour = COLOURS[result.state]
        text = escape(_text(result))
        line = f"{escape(result.stage)}: [{colour}]{result.state}[/] {result.seconds:.1f} s  {text}"
        self._console.print(line, soft_wrap=True)


def _text(result: Result) -> str:
    if result.state == "failed":
        return f"{result.error} (log: {result.log})" if result.log else result.error
    if result.state == "skipped":
        return f"{result.error} before it did not succeed"
    return result.error or result.why


def summary(results: list[Result]) -> None:
    """Print the table of stages, in the order in which they ended."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("stage")
    table.add_column("state")
    table.add_column("seconds", justify="right")
    for result in results:
        state = f"[{COLOURS[result.state]}]{result.state}[/]"
        table.add_row(escape(result.stage), state, f"{result.seconds:.1f}")
    console.print()
    console.print(table)


def headline(root: Path) -> None:
    """Print the report's headline table and where the report lies, if there is one."""
    if (root / REPORT).is_file():
        click.echo(f"\nThe report: {REPORT}")
    if (root / HEADLINE).is_file():
        click.echo((root / HEADLINE).read_text(encoding="utf-8", errors="replace").rstrip())


def as_json(root: Path, stages: list[dict[str, Any]]) -> None:
    """Print what became of the stages, where the report lies and its headline, as one JSON object."""
    report = REPORT.as_posix() if (root / REPORT).is_file() else None
    scores = root / HEADLINE.with_suffix(".json")
    rows = (
        read(scores, "delete it and run the stage report again", constants=True) if scores.is_file() else None
    )
    whole = {"stages": stages, "report": report, "headline": rows}
    click.echo(json.dumps(whole, indent=2, ensure_ascii=False))
