"""Printing of commands: lines, JSON, tables and bars, in which no text from data can control the terminal.

On a terminal lines are wrapped between words. A file or another program gets them whole.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from nightjar.core.display import duration, number, printable, printable_json

# The width of what is no terminal: no line is wrapped.
ENDLESS = 100_000
# How states are shown.
STYLES = {
    **dict.fromkeys(("ran", "would run", "present"), "green"),
    **dict.fromkeys(("restored", "unchanged", "would be restored"), "cyan"),
    **dict.fromkeys(("failed", "would fail", "would be skipped", "missing"), "bold red"),
    "follows": "yellow",
}


def console(err: bool = False) -> Console:
    """A console that makes nothing of what texts hold; as wide as the terminal, or ENDLESS elsewhere."""
    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() else ENDLESS
    return Console(stderr=err, markup=False, emoji=False, highlight=False, width=width)


def say(line: str = "", err: bool = False) -> None:
    """Print one line; a line end in it is escaped as any other control character is."""
    _write(printable(line), err)


def say_text(text: str) -> None:
    """Print a text of several lines: line ends and tabs remain."""
    _write(printable(text, keep="\n\t"))


def say_exact(text: str) -> None:
    """Print data that a file or another program takes as they are; on a terminal as `say_text` does."""
    if sys.stdout.isatty():
        say_text(text)
    else:
        print(text, flush=True)


def say_json(value: Any, indent: int | None = 2) -> None:
    """Print JSON; what is not a JSON value is printed as its text."""
    try:
        unicode = codecs.lookup(sys.stdout.encoding or "utf-8").name.startswith("utf")
    except LookupError:
        unicode = False
    text = json.dumps(value, indent=indent, ensure_ascii=not unicode, default=str)
    print(printable_json(text), flush=True)


def say_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows that have the same keys as CSV, and nothing where there is no row."""
    if not rows:
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    say_exact(text.getvalue().removesuffix("\n"))


def _write(text: str, err: bool = False) -> None:
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        text = "\n".join(_wrapped(Text(text), console(err)))
    print(text, file=stream, flush=True)


def _wrapped(text: Text, out: Console) -> list[str]:
    return [line.plain.rstrip() for line in text.wrap(out, out.width)]


def say_table(rows: Sequence[Mapping[str, Any]], title: str = "", right: Collection[str] = ()) -> None:
    """Print rows that have the same keys as a table, if there are any; numbers and the columns `right` to the right."""
    if not rows:
        return
    if title:
        say(title)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, value in rows[0].items():
        numeric = name in right or (isinstance(value, int | float) and not isinstance(value, bool))
        # Folded, not cut: each number and each text is on the screen in whole.
        table.add_column(Text(printable(name)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    print(*_rendered(console(), table), sep="\n", flush=True)


def _cell(value: Any) -> Text:
    text = printable(number(value, 2) if isinstance(value, float) else str(value))
    return Text(text, style=STYLES.get(text, ""))


def _rendered(out: Console, renderable: Table | Tree) -> list[str]:
    with out.capture() as captured:
        out.print(renderable)
    return [line.rstrip() for line in captured.get().splitlines()]


def say_tree(tree: Tree) -> None:
    """Print a tree, whose texts are printable."""
    print(*_rendered(console(), tree), sep="\n", flush=True)


class _Left(ProgressColumn):
    """`12 of 75, 4 min left`, as far as it is known."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text()
        remaining = f", {duration(task.time_remaining)} left" if task.time_remaining else ""
        return Text(f"{task.completed:,.0f} of {task.total:,.0f}{remaining}")


@contextlib.contextmanager
def bar(title: str) -> Iterator[Callable[[str, int, int | None], None] | None]:
    """A bar with the time that is left, on standard error if that is a terminal; None elsewhere. It is there at once.

    The function that it yields takes what is done, how many of these, and of how many (None: unknown).
    """
    if not sys.stderr.isatty():
        yield None
        return
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), _Left()
    # A model that answers many questions at once may say nothing for a minute.
    with Progress(
        *columns, console=console(err=True), transient=True, refresh_per_second=2, speed_estimate_period=600
    ) as progress:
        task = progress.add_task(printable(title), total=None)

        def show(what: str, done: int, total: int | None) -> None:
            if (progress.tasks[task].description, progress.tasks[task].total) != (printable(what), total):
                progress.reset(task, description=printable(what), total=total)
            progress.update(task, completed=done)

        yield show


@contextlib.contextmanager
def bytes_bar(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar of the bytes that are done and of all, on standard error if that is a terminal; None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(err=True), transient=True) as bar:
        task = bar.add_task(printable(title), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
