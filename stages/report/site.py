"""The files of the report: pages from templates, and the sections and plots on them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from nightjar.benchmarks.sections import (
    Cell,
    Intervals,
    Noted,
    Points,
    ReportColumn,
    ReportRow,
    ReportTable,
    Section,
    TableRow,
    Value,
    numbered,
    texts,
    words,
)
from nightjar.core.display import number, printable
from nightjar.core.errors import NightjarError
from nightjar.core.plugins import calling
from nightjar.statistics.bootstrap import CONFIDENCE
from stages.report import numbers
from stages.report.plots import kinds
from stages.report.plots.spec import ROLES, Plot
from stages.report.read.systems import MEANINGS

TEMPLATES, ASSETS = (Path(__file__).parent / name for name in ("templates", "assets"))
# What the template of a benchmark's own section may use.
_MACROS = '{% from "macros.html.j2" import figure, table with context %}'
# A title with its pages: (file, title).
Menu = tuple[str, Sequence[tuple[str, str]]]


class Site:
    """Files by name, with the scripts and styles of the pages in `assets/`. Every page has the `menus`.

    A page loads the scripts that its template names in the block `scripts`. `named` are the systems, each with its
    `role` and a `text` that says what it is: their names are explained wherever they stand. A context may have its own.
    """

    def __init__(
        self, menus: Sequence[Menu] = (), named: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self.files = {
            f"assets/{file.name}": file.read_text(encoding="utf-8") for file in sorted(ASSETS.iterdir())
        }
        self._shared = {"menus": menus, "named": named or {}, "meanings": MEANINGS}

    def page(self, file: str, title: str, context: Mapping[str, Any], template: str = "") -> None:
        """Add a page, whose template has its name unless another is given, and the files of its plots."""
        page_context = self._shared | {**context, "page": file, "title": title}
        roles = {name: it["role"] for name, it in page_context["named"].items()}

        def drawn(block: Plot | Intervals | Points) -> tuple[Plot, list[str]]:
            plot = block if isinstance(block, Plot) else kinds.of(block, roles)
            panels, files = plot.draw()
            self.add(files)
            return plot, panels

        shared = {"named": page_context["named"], "drawn": drawn}

        def rendered(section: Section) -> Markup:
            return render_section(section, title, shared)

        page_context |= {"drawn": drawn, "rendered": rendered}
        page_template = environment().get_template(template or f"{file}.j2")
        self.add({file: page_template.render(page_context)})

    def add(self, files: Mapping[str, str]) -> None:
        """Add files. Raises NightjarError if the report has one of that name."""
        for name in files:
            if name in self.files:
                raise NightjarError("two files of the report have this name", name, "rename the benchmark")
        self.files |= files


def render_section(section: Section, owner: str, shared: Mapping[str, Any]) -> Markup:
    """The section of a benchmark, its `owner`; `shared` are the values that the macros need.

    Raises NightjarError for whatever its template raises.
    """
    with calling(owner, f"its report section {section.id} fails"):
        template = section.template
        text = template if isinstance(template, str) else template.read_text(encoding="utf-8")
        rendered = environment().from_string(_MACROS + text).render({**section.values, **shared})
    return Markup(rendered)  # noqa: S704 - the template escapes


def marked(value: Any) -> Any:
    """A text whose control characters, and marks that change the direction of text, are written as marked escapes.

    Markup and other values remain as they are. Line ends and tabs remain too.
    """
    if not isinstance(value, str) or isinstance(value, Markup) or _escaped(value) == value:
        return value
    # Without quotation marks, so that it ends no attribute.
    mark = Markup("<b class=control>{}</b>")
    return Markup().join(one if _escaped(one) == one else mark.format(_escaped(one)) for one in value)


def prose(text: str) -> Markup:
    """A text in which `code` and **bold** parts are marked."""
    safe = str(escape(marked(text)))
    code = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", code))  # noqa: S704 - escaped above


def _escaped(text: str) -> str:
    return printable(text, keep="\n\t")


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates. Every text is escaped and `marked`; a page runs no script but those in `assets/`."""
    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=marked,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.globals |= {"ROLES": ROLES, "GLYPHS": dict(ROLES.values())}
    jinja.globals |= {"texts": texts, "numbered": numbered, "words": words}
    jinja.globals["CONFIDENCE"] = f"{CONFIDENCE:.0%}"
    jinja.filters |= {
        "number": number,
        "count": numbers.count,
        "score": lambda value, metric: numbers.value(metric, value),
        "counted": numbers.counted,
        "cell": cell,
        "row": row,
        "prose": prose,
    }
    return jinja


def _constant(title: str, text: str) -> str:
    """Return what all rows of a table have in a column."""
    if title == "significant":
        return "all are significant" if text == "yes" else "none is significant"
    return f"{title} {text}" if text.startswith("n<") else f"{title} = {text}"


def without_equal(
    columns: Sequence[ReportColumn], rows: Sequence[TableRow], caption: str = ""
) -> ReportTable:
    """The table; texts that are equal in all of at least three rows are in its caption instead of a column."""
    table_rows = [row(cells, columns) for cells in rows]
    equal = {
        at: _plain(first)
        for at, first in enumerate(table_rows[0].cells if len(rows) > 2 else ())
        if at and isinstance(first, str | int) and all(it.cells[at] == first for it in table_rows)
    }
    explanation = ", ".join(_constant(columns[at].title, text) for at, text in equal.items())
    kept_rows = [
        ReportRow([cell for at, cell in enumerate(it.cells) if at not in equal], it.published)
        for it in table_rows
    ]
    heads = [it for at, it in enumerate(columns) if at not in equal]
    return ReportTable(heads, kept_rows, ". ".join(filter(None, (caption.removesuffix("."), explanation))))


def row(cells: TableRow, columns: Sequence[ReportColumn]) -> ReportRow:
    """The row of a table with these columns; plain cells are one that is neither published nor a heading."""
    if isinstance(cells, ReportRow):
        return cells
    return ReportRow([cells[it.title] for it in columns] if isinstance(cells, Mapping) else cells)


def cell(value: Cell) -> dict[str, Any]:
    """The text of a cell, the note below it, whether it is bold, and its share of the metric's range in percent."""
    if isinstance(value, Noted):
        return {"text": value.text, "note": value.note, "bold": False, "heat": None}
    if not isinstance(value, Value):
        return {"text": _plain(value), "note": "", "bold": False, "heat": None}
    has_note = value.n or value.low is not None
    note = numbers.interval(value.metric, value.low, value.high, value.n) if has_note else ""
    heat = None if value.heat is None else round(100 * value.heat)
    return {"text": numbers.value(value.metric, value.value), "note": note, "bold": value.bold, "heat": heat}


def _plain(value: str | int | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else numbers.count(value)
