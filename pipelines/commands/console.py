"""How commands print: lines, JSON, tables and bars, in which no text from data can control the terminal.

rich is imported where it is needed: it takes long to load.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nightjar.core.display import number, printable, printable_json

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 160


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
        _write(text)


def say_json(value: Any, indent: int | None = 2) -> None:
    """Print JSON; what is not a JSON value is printed as its text."""
    try:
        unicode = codecs.lookup(sys.stdout.encoding or "utf-8").name.startswith("utf")
    except LookupError:
        unicode = False
    text = json.dumps(value, indent=indent, ensure_ascii=not unicode, default=str)
    _write(printable_json(text))


def say_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows that have the same keys as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    say_exact(text.getvalue().removesuffix("\n"))


def _write(text: str, err: bool = False) -> None:
    print(text, file=sys.stderr if err else sys.stdout, flush=True)


def console(err: bool = False, width: int = WIDTH) -> Console:
    """A console that makes nothing of what texts hold; as wide as the terminal, or `width` characters elsewhere."""
    from rich.console import Console

    shown = sys.stderr if err else sys.stdout
    wide = None if shown.isatty() else width
    return Console(stderr=err, markup=False, emoji=False, highlight=False, width=wide)


def say_table(
    rows: Sequence[Mapping[str, Any]],
    title: str = "",
    width: int = WIDTH,
    right: Collection[str] = (),
    colours: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Print rows that have the same keys as a table, if there are any.

    Numbers, and the columns `right`, are set to the right. `colours` has the style of a text, by column.
    """
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    table = Table(
        title=Text(printable(title)) if title else None,
        title_justify="left",
        box=None,
        header_style="bold",
        pad_edge=False,
    )
    for name, value in rows[0].items():
        numeric = name in right or (isinstance(value, int | float) and not isinstance(value, bool))
        table.add_column(Text(printable(name)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        cells = []
        for name, value in row.items():
            text = number(value, 2) if isinstance(value, float) else str(value)
            cells.append(Text(printable(text), style=(colours or {}).get(name, {}).get(text, "")))
        table.add_row(*cells)
    console(width=width).print(table)


@contextlib.contextmanager
def bytes_bar(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar of the bytes that are done and of all, on standard error if that is a terminal; None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(err=True), transient=True) as bar:
        task = bar.add_task(printable(title), total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)
