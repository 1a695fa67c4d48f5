"""The tables of a benchmark's paper with our systems in the same columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.by_call import ByCall
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.papers import PublishedCalls, PublishedTable
from nightjar.core.display import number
from nightjar.statistics import too_few
from stages.report import numbers
from stages.report.benchmark import by_call, differences
from stages.report.read.results import Results, Row, Rows

# What only some of the tables have.
_PLAIN: Mapping[str, Any] = {"by_call": False, "counted": False, "reference": "", "distances": ()}


def context(
    card: Card, found: Results, lines: Sequence[ByCall], comparisons: Rows = ()
) -> list[dict[str, Any]]:
    """What the templates show: each of the card's tables of which at least one track and metric was evaluated.

    `comparisons` are rows of contracts.COMPARISONS.
    """
    listed = []
    for table in card.papers.tables:
        if not set(table.tracks) & set(found.tracks):
            continue
        if table.calls:
            listed.append(_by_call(card, table, lines))
        elif not table.metrics:
            listed.append(_scores(card, table, found))
        elif rows := [row for row in found.overall(table.tracks[0]) if row.metric.name in table.metrics]:
            order = list(table.metrics)
            rows.sort(key=lambda row: order.index(row.metric.name))
            listed.append(_metrics(card, table, found, comparisons, rows))
    return listed


def shown(card: Card) -> frozenset[str]:
    """The tracks whose published results are in one of the tables."""
    return frozenset(track for table in card.papers.tables for track in table.tracks)


def _scores(card: Card, table: PublishedTable, found: Results) -> dict[str, Any]:
    first = {track: found.headline(track)[0] for track in table.tracks if track in found.tracks}
    rows = []
    for it in card.papers.rows:
        if set(it.values) & set(table.tracks) and table.source in ("", it.source):
            cells = [_published(first.get(track), it.values.get(track)) for track in table.tracks]
            rows.append({"system": it.system, "ours": False, "cells": cells, "intervals": []})
    for system in found.systems:
        cells = [_ours(first.get(track), system) for track in table.tracks]
        if any(cell != "–" for cell in cells):
            ends = [_ends(first.get(track), system) for track in table.tracks]
            rows.append({"system": system, "ours": True, "cells": cells, "intervals": ends})
    return {
        "title": table.title,
        "note": table.note,
        "columns": [_column(card, track, first.get(track)) for track in table.tracks],
        "rows": rows,
        **_PLAIN,
    }


def _metrics(
    card: Card, table: PublishedTable, found: Results, comparisons: Rows, columns: Sequence[Row]
) -> dict[str, Any]:
    """A table whose columns are metrics, with intervals and the differences of the table's reference from ours."""
    track, names = table.tracks[0], [row.metric.name for row in columns]
    rows: list[dict[str, Any]] = []
    for it in card.papers.rows:
        if it.metrics.keys() & set(names):
            cells = [_published(row, it.metrics.get(row.metric.name)) for row in columns]
            rows.append({"system": it.system, "ours": False, "n": "", "cells": cells, "intervals": []})
    for system in found.systems:
        if counts := found.n(track, system, names):
            lanes = [row.lanes.get(system) for row in columns]
            pairs = list(zip(columns, lanes, strict=True))
            ends = [numbers.interval(row.metric, it.low, it.high, row.n) if it else "" for row, it in pairs]
            few = all(it is None or it.low is None for it in lanes)
            rows.append(
                {
                    "system": system,
                    "ours": True,
                    "n": _range(counts) + (f", {too_few(max(counts))}" if few else ""),
                    "cells": [_ours(row, system) for row in columns],
                    "intervals": [] if few else ends,
                }
            )
    return {
        "title": table.title,
        "note": table.note,
        "columns": [table.metrics[name] for name in names],
        "rows": rows,
        **_PLAIN,
        "counted": True,
        "reference": table.reference,
        "distances": _distances(table.reference, track, found, columns, comparisons),
    }


def _distances(
    reference: str, track: str, found: Results, columns: Sequence[Row], comparisons: Rows
) -> list[dict[str, Any]]:
    """A row for every system with the differences of the reference from it; none if the reference was not evaluated."""
    rows = []
    for system in found.systems:
        lines = [
            differences.find(comparisons, reference, system, track, "overall", "overall", row.metric.name)
            for row in columns
        ]
        if any(lines):
            cells = [
                differences.texts(line, row.metric) if line else {"value": "–", "interval": "", "seen": False}
                for line, row in zip(lines, columns, strict=True)
            ]
            rows.append(
                {"system": f"{reference} − {system}", "n": _range(line["n"] for line in lines if line)}
                | {"cells": cells, "few": all(line is None or line["low"] is None for line in lines)}
            )
    return rows


def _range(counts: Iterable[int]) -> str:
    """`52`, or `51–52` where they differ."""
    ends = sorted(set(counts))
    return numbers.count(ends[0]) + (f"–{numbers.count(ends[-1])}" if len(ends) > 1 else "")


def _column(card: Card, track: str, row: Row | None) -> str:
    title = numbers.initial(card.track_title(track))
    if row is None:
        return title
    few = all(lane.low is None for lane in row.lanes.values())
    return f"{title}, n = {numbers.count(row.n)}" + (f", {too_few(row.n)}" if few else "")


def _ends(row: Row | None, system: str) -> str:
    """The interval of a system's value; empty where it has none."""
    lane = row.lanes.get(system) if row else None
    return (
        numbers.interval(row.metric, lane.low, lane.high, row.n)
        if row and lane and lane.low is not None
        else ""
    )


def _published(row: Row | None, value: float | None) -> str:
    if value is None:
        return "–"
    return numbers.value(row.metric, value) if row else number(value, 1)


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
            {"track": title, "system": it.system, "ours": False, "cells": _cells(metric, it), "intervals": []}
            for it in table.calls
            if it.track == track
        ]
        rows += [
            {"track": title, "system": it.system, "ours": True, "cells": by_call.cells(it), "intervals": []}
            for it in ours
        ]
    columns = ["all", "with a call", "without a call", "calling (%)"]
    return {
        "title": table.title,
        "note": table.note,
        "columns": columns,
        "rows": rows,
        **_PLAIN,
        "by_call": True,
    }


def _cells(metric: Metric, it: PublishedCalls) -> list[str]:
    values = (it.everything, it.with_call, it.without_call)
    return [*(by_call.score(metric, value) for value in values), number(it.share, 1)]
