"""The files of the report: pages from templates, and the sections and plots on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from nightjar.benchmarks.sections import (
    Block,
    Cell,
    Fold,
    Gains,
    Intervals,
    Noted,
    Points,
    Section,
    Table,
    Text,
    Value,
)
from nightjar.core.display import printable
from nightjar.core.errors import NightjarError
from stages.report import numbers
from stages.report.plots import kinds
from stages.report.plots.spec import ROLES, Plot
from stages.report.read.systems import MEANINGS

TEMPLATES, ASSETS = (Path(__file__).parent / name for name in ("templates", "assets"))
# A title with its pages: (file, title).
Menu = tuple[str, Sequence[tuple[str, str]]]


class Site:
    """Files by name, with the scripts and styles of the pages in `assets/`. Every page has the `menus`.

    A page loads the scripts that its template names in the block `scripts`. `named` are the systems, each with its
    `role` and a `text` that says what it is: their names are explained wherever they stand.
    """

    def __init__(
        self, menus: Sequence[Menu], footer: str, named: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self.files = {
            f"assets/{file.name}": file.read_text(encoding="utf-8") for file in sorted(ASSETS.iterdir())
        }
        self._shared = {"menus": menus, "footer": footer, "named": named or {}, "meanings": MEANINGS}

    def page(self, file: str, template: str, title: str, context: Mapping[str, Any]) -> None:
        """Add a page and the files of the plots that its context holds."""
        found = environment().get_template(template)
        self.add({file: found.render(self._shared | {**context, "page": file, "title": title})})
        for plot in plots(context):
            self.add(plot.files())

    def add(self, files: Mapping[str, str]) -> None:
        """Add files. Raises NightjarError if the report has one of that name."""
        for name in files:
            if name in self.files:
                raise NightjarError("two files of the report have this name", name, "rename the benchmark")
        self.files |= files


def plots(value: Any) -> Iterator[Plot]:
    """The plots in a context, whatever mappings and sequences they are in."""
    if isinstance(value, Plot):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from plots(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from plots(member)


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
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=marked,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals |= {"ROLES": ROLES, "GLYPHS": dict(ROLES.values())}
    made.filters["prose"] = prose
    made.filters["count"] = numbers.count
    return made


def section_context(section: Section, roles: Mapping[str, str]) -> dict[str, Any]:
    """The section with its texts and plots; `roles` are those of the systems."""
    return {
        "id": section.id,
        "title": section.title,
        "blocks": [_block(one, roles) for one in section.blocks],
    }


def _block(it: Block, roles: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(it, Text):
        return {"kind": "text", "text": it.text, "note": it.note, "items": it.items}
    if isinstance(it, Fold):
        blocks = [_block(one, roles) for one in it.blocks]
        return {"kind": "fold", "title": it.title, "open": it.open, "blocks": blocks}
    if isinstance(it, Table):
        rows = [
            {"cells": [cell(one) for one in row.cells], "published": row.published, "heading": row.heading}
            for row in it.rows
        ]
        lines = it.caption.split("\n") if it.caption else []
        return {"kind": "table", "caption": lines, "columns": it.columns, "rows": rows}
    if isinstance(it, Intervals):
        return {"kind": "plot", "plot": kinds.forest(it.name, it.label, it.rows, roles)}
    if isinstance(it, Gains):
        return {"kind": "plot", "plot": kinds.gains(it, roles)}
    return {"kind": "plot", "plot": kinds.points(it, roles) if isinstance(it, Points) else it}


def cell(it: Cell) -> dict[str, Any]:
    """The text of a cell, the note below it, whether it is bold, and its share of the metric's range in percent."""
    if isinstance(it, Noted):
        return {"text": it.text, "note": it.note, "bold": False, "heat": None}
    if not isinstance(it, Value):
        return {"text": "–" if it is None else it, "note": "", "bold": False, "heat": None}
    shown, interval = (
        (numbers.signed, numbers.signed_interval) if it.signed else (numbers.value, numbers.interval)
    )
    note = interval(it.metric, it.low, it.high, it.n) if it.n or it.low is not None else ""
    heat = None if it.heat is None else round(100 * it.heat)
    return {"text": shown(it.metric, it.value), "note": note, "bold": it.bold, "heat": heat}
