"""The tables of a benchmark's paper with our systems in the same columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.aggregate import ByCall
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.papers import PublishedTable
from nightjar.benchmarks.sections import (
    Block,
    Cell,
    Noted,
    Paragraph,
    ReportColumn,
    ReportRow,
    ReportTable,
    Section,
    Value,
    initial,
)
from nightjar.core.display import number
from nightjar.statistics import too_few
from nightjar.statistics.bootstrap import CONFIDENCE
from nightjar.statistics.metric import Metric
from stages.report import numbers
from stages.report.benchmark import call_use, differences
from stages.report.read.benchmark_results import Results, Row

_NOTE = (
    "Grey rows in italics are published; their models are larger, and their questions are the complete sets. Ours are "
    "on n questions"
)


def section(card: Benchmark, results: Results, lines: Sequence[ByCall]) -> Section | None:
    """Each of the card's tables of which at least one track and metric was evaluated; None if there is none."""
    blocks: list[Block] = []
    with_intervals = False
    for table in card.papers.tables:
        published_table = None
        if not set(table.tracks) & set(results.tracks):
            continue
        if table.calls:
            published_table = _by_call(card, table, lines)
        elif not table.metrics:
            published_table = _scores(card, table, results)
        elif rows := [row for row in results.overall(table.tracks[0]) if row.metric.name in table.metrics]:
            order = list(table.metrics)
            rows.sort(key=lambda row: order.index(row.metric.name))
            published_table = _metrics(card, table, results, rows)
        if published_table:
            with_intervals |= not table.calls
            blocks += [published_table, *([Paragraph(table.note, note=True)] if table.note else [])]
    if not blocks:
        return None
    explanation = f"{_NOTE}, with {CONFIDENCE:.0%} intervals." if with_intervals else f"{_NOTE}."
    return Section(
        "published",
        "Published results: other models, other test set",
        [Paragraph(explanation, note=True), *blocks],
    )


def _scores(card: Benchmark, table: PublishedTable, results: Results) -> ReportTable:
    first = {track: results.headline(track)[0] for track in table.tracks if track in results.tracks}
    rows = []
    for published_row in card.papers.rows:
        if set(published_row.values) & set(table.tracks) and table.source in ("", published_row.source):
            cells = (_published(first.get(track), published_row.values.get(track)) for track in table.tracks)
            rows.append(ReportRow((published_row.system, *cells), published=True))
    for system in results.systems:
        ours = [_ours(first.get(track), system) for track in table.tracks]
        if any(ours):
            rows.append(ReportRow((system, *ours)))
    columns = (ReportColumn(_heading(card, track, first.get(track))) for track in table.tracks)
    return ReportTable((ReportColumn("system", "text"), *columns), rows, table.title)


def _metrics(card: Benchmark, table: PublishedTable, results: Results, columns: Sequence[Row]) -> ReportTable:
    """A table whose columns are metrics, with intervals and the differences of the table's reference from ours."""
    track, names = table.tracks[0], [row.metric.name for row in columns]
    rows = [
        ReportRow(
            (it.system, "", *(_published(row, it.metrics.get(row.metric.name)) for row in columns)), True
        )
        for it in card.papers.rows
        if it.metrics.keys() & set(names)
    ]
    for system in results.systems:
        if counts := results.n(track, system, names):
            lanes = [row.lanes.get(system) for row in columns]
            few = all(it is None or it.low is None for it in lanes)
            n = _range(counts) + (f", {too_few(max(counts))}" if few else "")
            rows.append(ReportRow((system, n, *(_ours(row, system, 0 if few else row.n) for row in columns))))
    if distances := _distances(table.reference, track, results, columns):
        explanation = "differences on the same instances; * is significant (by p)"
        rows += [ReportRow((f"Distance to {table.reference}: {explanation}",), heading=True), *distances]
    heads = (
        ReportColumn("system", "text"),
        ReportColumn("n"),
        *(ReportColumn(table.metrics[name]) for name in names),
    )
    return ReportTable(heads, rows, table.title)


def _distances(reference: str, track: str, results: Results, columns: Sequence[Row]) -> list[ReportRow]:
    """A row for every system with the differences of the reference from it; none if the reference was not evaluated."""
    rows = []
    for system in results.systems:
        lines = [results.difference(track, "overall", row, reference, system) for row in columns]
        if any(lines):
            few = all(line is None or line["low"] is None for line in lines)
            cells = (
                Noted(*_distance(line, row.metric, few)) if line else None
                for line, row in zip(lines, columns, strict=True)
            )
            n = _range(line["n"] for line in lines if line)
            rows.append(ReportRow((f"{reference} − {system}", n, *cells)))
    return rows


def _distance(line: Mapping[str, Any], metric: Metric, few: bool) -> tuple[str, str]:
    """A difference with its mark, and its interval, which is not there where all of a table have few instances."""
    row_texts = differences.texts(line, metric)
    return row_texts["value"] + "*" * row_texts["significant"], "" if few else row_texts["interval"]


def _range(counts: Iterable[int]) -> str:
    """`52`, or `51–52` where they differ."""
    ends = sorted(set(counts))
    return numbers.count(ends[0]) + (f"–{numbers.count(ends[-1])}" if len(ends) > 1 else "")


def _heading(card: Benchmark, track: str, row: Row | None) -> str:
    title = initial(card.track_title(track))
    if row is None:
        return title
    few = all(lane.low is None for lane in row.lanes.values())
    return f"{title}, n = {numbers.count(row.n)}" + (f", {too_few(row.n)}" if few else "")


def _published(row: Row | None, value: float | None) -> Cell:
    if value is None:
        return None
    return Value(row.metric, value) if row else number(value, 1)


def _ours(row: Row | None, system: str, n: int = 0) -> Value | None:
    lane = row.lanes.get(system) if row else None
    return Value(row.metric, lane.value, lane.low, lane.high, n) if row and lane else None


def _by_call(card: Benchmark, table: PublishedTable, lines: Sequence[ByCall]) -> ReportTable:
    rows: list[ReportRow] = []
    for track in table.tracks:
        title = initial(card.track_title(track))
        ours = [line for line in lines if line.track == track]
        if ours:
            metric = ours[0].metric
            for published_call in table.calls:
                if published_call.track == track:
                    score_cells = call_use.values(
                        metric,
                        published_call.everything,
                        published_call.with_call,
                        published_call.without_call,
                    )
                    rows.append(
                        ReportRow(
                            (title, published_call.system, *score_cells, number(published_call.share, 1)),
                            published=True,
                        )
                    )
            rows += [
                ReportRow((title, published_call.system, *call_use.cells(published_call)))
                for published_call in ours
            ]
    heads = (
        ReportColumn("task", "text"),
        ReportColumn("system", "text"),
        *map(ReportColumn, call_use.COLUMNS),
    )
    return ReportTable(heads, rows, table.title)
