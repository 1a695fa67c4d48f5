"""What a rebuild looks like on a terminal, and in a file."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from pipelines.graph import Graph
from pipelines.printing import console, say, say_json, say_table, say_text
from stages.display import printable
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
        self._console = console(stderr, width=200)
        self._bars: Bars | None = None
        if self._console.is_terminal:
            self._bars = Bars(
                TextColumn("{task.fields[stage]}", markup=False),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[line]}", markup=False),
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
        """Record and show the result of a stage; called from several threads."""
        with self._lock:
            if result.state == "waiting":
                self._say(f"{result.stage}: {result.why}")
            elif result.state == "running":
                self._running(result)
            else:
                self._ended(result)

    def _running(self, result: Result) -> None:
        first = result.stage not in self._tasks
        if self._bars is not None:
            line, stage = printable(result.why[:80]), printable(result.stage)
            if first:
                self._tasks[result.stage] = self._bars.add_task("", total=None, stage=stage, line=line)
            self._bars.update(self._tasks[result.stage], line=line)  # type: ignore[arg-type]
        else:
            self._tasks[result.stage] = 0
        if self._verbose or (first and self._bars is None):
            word = "starts: " if first else ""
            self._say(f"{result.stage}: {word}{result.why}")

    def _ended(self, result: Result) -> None:
        self.results.append(result)
        if self._bars is not None:
            if result.stage in self._tasks:
                self._bars.remove_task(self._tasks[result.stage])  # type: ignore[arg-type]
            self._bars.advance(self._whole)
        state = (result.state, COLOURS[result.state])
        self._say(f"{result.stage}: ", state, f" {result.seconds:.1f} s  {_text(result)}")

    def _say(self, *parts: str | tuple[str, str]) -> None:
        """Print one line of texts, and of texts with their styles."""
        told = [(part, "") if isinstance(part, str) else part for part in parts]
        line = Text.assemble(*((printable(text), style) for text, style in told))
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


def headline(root: Path) -> None:
    """Print the report's headline table and where the report lies, if there is one."""
    if (root / REPORT).is_file():
        say()
        say(f"The report: {REPORT}")
    if (root / HEADLINE).is_file():
        say_text((root / HEADLINE).read_text(encoding="utf-8", errors="replace").rstrip())


def as_json(root: Path, stages: list[dict[str, Any]]) -> None:
    """Print what became of the stages, where the report lies and its headline, as one JSON object."""
    report = REPORT.as_posix() if (root / REPORT).is_file() else None
    scores = root / HEADLINE.with_suffix(".json")
    rows = (
        read(scores, "delete it and run the stage report again", constants=True) if scores.is_file() else None
    )
    whole = {"stages": stages, "report": report, "headline": rows}
    say_json(whole)
