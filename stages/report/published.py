"""The tables of a benchmark's paper with our systems in the same columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nightjar.benchmarks.by_call import ByCall
from nightjar.benchmarks.card import Card, Metric, PublishedCalls, PublishedTable
from stages.report import by_call, numbers
from stages.report.results import Results, Row


def context(card: Card, found: Results, lines: Sequence[ByCall]) -> list[dict[str, Any]]:
    """What the templates show: each of the card's tables of which at least one track was evaluated."""
    return [
        _by_call(card, table, lines) if table.calls else _scores(card, table, found)
        for table in card.tables
        if set(table.tracks) & set(found.tracks)
    ]


def shown(card: Card) -> frozenset[str]:
    """The tracks whose published results are in one of the tables."""
    return frozenset(track for table in card.tables for track in table.tracks)


def _scores(card: Card, table: PublishedTable, found: Results) -> dict[str, Any]:
    first = {track: found.headline(track)[0] for track in table.tracks if track in found.tracks}
    rows = []
    for it in card.published:
        if set(it.values) & set(table.tracks):
            cells = [_published(first.get(track), it.values.get(track)) for track in table.tracks]
            rows.append({"system": it.system, "ours": False, "cells": cells})
    for system in found.systems:
        cells = [_ours(first.get(track), system) for track in table.tracks]
        if any(cell != "–" for cell in cells):
            rows.append({"system": system, "ours": True, "cells": cells})
    return {
        "title": table.title,
        "note": table.note,
        "columns": [_column(card, track, first.get(track)) for track in table.tracks],
        "rows": rows,
        "by_call": False,
    }


def _column(card: Card, track: str, row: Row | None) -> str:
    title = numbers.initial(card.track_title(track))
    return f"{title}, n = {numbers.count(row.n)}" if row else title


def _published(row: Row | None, value: float | None) -> str:
    if value is None:
        return "–"
    return numbers.value(row.metric, value) if row else f"{value:.1f}"


def _ours(row: Row | None, system: str) -> str:
    lane = row.lanes.get(system) if row else None
    return numbers.value(row.metric, lane.value) if row and lane else "–"


def _by_call(card: Card, table: PublishedTable, lines: Sequence[ByCall]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for track in table.tracks:
        title = numbers.initial(card.track_title(track))
        ours = [line for line in lines if line.track == track]
        if not ours:
            continue
        metric = ours[0].metric
        rows += [
            {"track": title, "system": it.system, "ours": False, "cells": _cells(metric, it)}
            for it in table.calls
            if it.track == track
        ]
        rows += [
            {"track": title, "system": it.system, "ours": True, "cells": by_call.cells(it)} for it in ours
        ]
    columns = ["all", "with a call", "without a call", "calling (%)"]
    return {"title": table.title, "note": table.note, "columns": columns, "rows": rows, "by_call": True}


def _cells(metric: Metric, it: PublishedCalls) -> list[str]:
    values = (it.everything, it.with_call, it.without_call)
    return [*(by_call.score(metric, value) for value in values), f"{it.share:.1f}"]
