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

from rich.cells import cell_len
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
# The narrowest column in which a text is readable, in characters.
NARROWEST = 24


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


def _wrapped(text: Text, out: Console, indent: int = 0) -> list[str]:
    return [" " * indent + line.plain.rstrip() for line in text.wrap(out, out.width - indent)]


def say_table(rows: Sequence[Mapping[str, Any]], title: str = "", right: Collection[str] = ()) -> None:
    """Print rows that have the same keys as a table, if there are any.

    Numbers, and the columns `right`, are set to the right. Of a table that is too wide, the widest column of texts is
    wrapped. Where that does not help, it stands below each row, with the last columns if they have no room either.
    """
    if not rows:
        return
    if title:
        say(title)
    numbers = (
        name for name, it in rows[0].items() if isinstance(it, int | float) and not isinstance(it, bool)
    )
    numeric = {*right, *numbers}
    cells = [{name: _cell(value) for name, value in row.items()} for row in rows]
    widths = {
        name: max(cell_len(it) for it in (name, *(row[name].plain for row in cells))) for name in rows[0]
    }
    texts = [name for name, width in widths.items() if name not in numeric and width > NARROWEST]
    text = max(texts, key=lambda name: widths[name], default="")
    word = max((cell_len(it) for row in cells for it in row[text].plain.split()), default=0) if text else 0
    out, columns, used = console(), list[str](), 0
    room = out.width - sum(widths.values()) - 2 * len(widths) + 2 + widths.get(text, 0)
    if room >= min(widths.get(text, 0), max(word, NARROWEST)) or len(widths) == 1:
        columns = list(widths)
    for name in widths if not columns else ():
        if name != text and (not columns or used + widths[name] <= out.width):
            columns.append(name)
            used += widths[name] + 2
    head, *lines = _lines(out, [{name: row[name] for name in columns} for row in cells], numeric, text)
    print(head)
    if len(columns) == len(widths):
        print(*lines, sep="\n", flush=True)
        return
    for line, row in zip(lines, cells, strict=True):
        below = [
            row[text].plain if text else "",
            *(f"{name} {row[name]}" for name in widths if name not in (text, *columns)),
        ]
        print(line, *_wrapped(Text("; ".join(filter(None, below))), out, 4), sep="\n", flush=True)


def _cell(value: Any) -> Text:
    text = printable(number(value, 2) if isinstance(value, float) else str(value))
    return Text(text, style=STYLES.get(text, ""))


def _lines(
    out: Console, cells: Sequence[Mapping[str, Text]], right: Collection[str], wrapped: str
) -> list[str]:
    """The lines of a table of which only the column `wrapped` may be narrower than its cells."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in cells[0]:
        justify: Any = "right" if name in right else "left"
        table.add_column(Text(printable(name)), justify=justify, no_wrap=name != wrapped)
    for row in cells:
        table.add_row(*row.values())
    return _rendered(out, table)


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
