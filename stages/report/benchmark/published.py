"""The tables of a benchmark's paper with our systems in the same columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightjar.benchmarks.aggregate import ByCall
from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.papers import PublishedTable
from nightjar.benchmarks.sections import (
    Cell,
    Noted,
    ReportRow,
    ReportTable,
    TableRow,
    Value,
    initial,
    numbered,
    texts,
)
from nightjar.core.display import number
from nightjar.statistics import too_few
from nightjar.statistics.metric import Metric
from stages.report import numbers
from stages.report.benchmark import call_use, differences
from stages.report.read.benchmark_results import Results, Row


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper with our systems, and its note; one `by_call` has no intervals."""

    table: ReportTable
    note: str
    by_call: bool


def tables(card: Benchmark, results: Results, lines: Sequence[ByCall]) -> list[PaperTable]:
    """The card's tables of which at least one track and metric was evaluated."""
    paper_tables = []
    for table in card.papers.tables:
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
        else:
            continue
        paper_tables.append(PaperTable(published_table, table.note, bool(table.calls)))
    return paper_tables


def _scores(card: Benchmark, table: PublishedTable, results: Results) -> ReportTable:
    first = {track: results.headline(track)[0] for track in table.tracks if track in results.tracks}
    rows: list[TableRow] = []
    for published_row in card.papers.rows:
        if set(published_row.values) & set(table.tracks) and table.source in ("", published_row.source):
            cells = (_published(first.get(track), published_row.values.get(track)) for track in table.tracks)
            rows.append(ReportRow((published_row.system, *cells), published=True))
    for system in results.systems:
        ours = [_ours(first.get(track), system) for track in table.tracks]
        if any(ours):
            rows.append((system, *ours))
    headings = (_heading(card, track, first.get(track)) for track in table.tracks)
    return ReportTable(texts("system") + numbered(*headings), rows, table.title)


def _metrics(card: Benchmark, table: PublishedTable, results: Results, columns: Sequence[Row]) -> ReportTable:
    """A table whose columns are metrics, with intervals and the differences of the table's reference from ours."""
    track, names = table.tracks[0], [row.metric.name for row in columns]
    rows: list[TableRow] = [
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
            rows.append((system, n, *(_ours(row, system, 0 if few else row.n) for row in columns)))
    if distances := _distances(table.reference, track, results, columns):
        explanation = "differences on the same instances; * is significant (by p)"
        rows += [ReportRow((f"Distance to {table.reference}: {explanation}",), heading=True), *distances]
    heads = texts("system") + numbered("n", *(table.metrics[name] for name in names))
    return ReportTable(heads, rows, table.title)


def _distances(reference: str, track: str, results: Results, columns: Sequence[Row]) -> list[TableRow]:
    """A row for every system with the differences of the reference from it; none if the reference was not evaluated."""
    rows: list[TableRow] = []
    for system in results.systems:
        lines = [results.difference(track, "overall", row, reference, system) for row in columns]
        if any(lines):
            few = all(line is None or line["low"] is None for line in lines)
            cells = (
                Noted(*_distance(line, row.metric, few)) if line else None
                for line, row in zip(lines, columns, strict=True)
            )
            n = _range(line["n"] for line in lines if line)
            rows.append((f"{reference} − {system}", n, *cells))
    return rows


def _distance(line: Mapping[str, Any], metric: Metric, few: bool) -> tuple[str, str]:
    """A difference with its mark, and its interval, which is not there where all of a table have few instances."""
    row_texts = differences.texts(line, metric)
    return row_texts["difference"] + "*" * row_texts["significant"], "" if few else row_texts["interval"]


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
    rows: list[TableRow] = []
    for track in table.tracks:
        title = initial(card.track_title(track))
        ours = [line for line in lines if line.track == track]
        for call in table.calls if ours else ():
            if call.track == track:
                scores = call_use.values(ours[0].metric, call.everything, call.with_call, call.without_call)
                cells = (title, call.system, *scores, number(call.share, 1))
                rows.append(ReportRow(cells, published=True))
        rows += [(title, line.system, *call_use.cells(line)) for line in ours]
    return ReportTable(texts("task", "system") + numbered(*call_use.COLUMNS), rows, table.title)
