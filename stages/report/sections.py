"""What the templates show of the sections that a benchmark makes as data (`nightjar.benchmarks.sections`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nightjar.benchmarks.sections import (
    Block,
    Cell,
    Fold,
    Gains,
    Intervals,
    Noted,
    Section,
    Table,
    Text,
    Value,
)
from stages.report import numbers
from stages.report.plots import curves, drawings


def context(section: Section, order: Mapping[str, int]) -> dict[str, Any]:
    """The section with its texts and plots; `order` is the place of each system among those of all benchmarks."""
    return {
        "id": section.id,
        "title": section.title,
        "short": section.short or section.title,
        "blocks": [_block(one, order) for one in section.blocks],
    }


def _block(it: Block, order: Mapping[str, int]) -> dict[str, Any]:
    if isinstance(it, Text):
        return {"kind": "text", "text": it.text, "note": it.note, "items": it.items}
    if isinstance(it, Fold):
        blocks = [_block(one, order) for one in it.blocks]
        return {"kind": "fold", "title": it.title, "open": it.open, "blocks": blocks}
    if isinstance(it, Table):
        rows = [
            {"cells": [cell(one) for one in row.cells], "published": row.published, "heading": row.heading}
            for row in it.rows
        ]
        lines = it.caption.split("\n") if it.caption else []
        return {"kind": "table", "caption": lines, "columns": it.columns, "rows": rows}
    if isinstance(it, Intervals):
        systems = [name for name in order if any(name in lanes for *_, lanes in it.rows)]
        return {"kind": "plot", "plot": drawings.scores(it.name, it.rows, systems, order, it.label)}
    if isinstance(it, Gains):
        panels = [(system, order[system], rows) for system, rows in it.systems.items()]
        return {"kind": "plot", "plot": curves.gains(it.name, panels, it.metric)}
    return {"kind": "plot", "plot": curves.points(it, order)}


def cell(it: Cell) -> dict[str, Any]:
    """The text of a cell, the note below it, and whether it is bold."""
    if isinstance(it, Noted):
        return {"text": it.text, "note": it.note, "bold": False}
    if not isinstance(it, Value):
        return {"text": "–" if it is None else it, "note": "", "bold": False}
    shown, interval = (
        (numbers.signed, numbers.signed_interval) if it.signed else (numbers.value, numbers.interval)
    )
    note = interval(it.metric, it.low, it.high, it.n) if it.n or it.low is not None else ""
    return {"text": shown(it.metric, it.value), "note": note, "bold": it.bold}
