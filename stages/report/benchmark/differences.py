"""Paired differences of systems: which are shown, and what calls and evidence add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.sections import ReportTable, TableRow, Value, initial, numbered
from nightjar.benchmarks.sections import texts as text_columns
from nightjar.statistics.metric import Metric
from stages.report import numbers
from stages.report.read.benchmark_results import CONTROL, Results, Row, Rows, category_title
from stages.report.site import without_equal

# Recipes that differ only in what they add to the control, and what that is.
ABLATIONS = {
    CONTROL: "neither",
    "calls_only": "tool calls",
    "evidence_only": "evidence",
    "combined": "tool calls and evidence",
}
_HALVES = ("calls_only", "evidence_only")


def between(results: Results, rows: Rows, models: Sequence[str]) -> list[ReportTable]:
    """Differences between `models` by headline metric, and by category those from the first model; empty if none."""

    def table(level: str, cells: Callable[[str], Sequence[Row]], baselines: Sequence[str]) -> ReportTable:
        known_cells = {(track, row.name, row.metric.name) for track in results.tracks for row in cells(track)}
        listed_rows = [
            row
            for row in rows
            if row["level"] == level
            and (row["track"], row["name"], row["metric"]) in known_cells
            and row["system"] in models
            and row["baseline"] in baselines
        ]
        listed_rows.sort(key=lambda row: results.tracks.index(row["track"]))
        named = text_columns(*(["category"] if level == "category" else []), "systems", "track", "metric")
        counted = numbered("n", "difference", "interval", "p", "better", "worse", "equal")
        table_rows = [_row(results, row) for row in listed_rows]
        return without_equal([*named, *counted, *text_columns("significant")], table_rows)

    overall = table("overall", results.headline, models)
    return [overall, table("category", results.categories, models[:1])] if overall.rows else []


def _row(results: Results, row: Mapping[str, Any]) -> dict[str, Any]:
    return texts(row, results.card.metric(row["metric"])) | {
        "category": category_title(row["name"]),
        "systems": f"{row['system']} − {row['baseline']}",
        "track": results.card.track_title(row["track"]),
    }


def of_number(
    row: Row, reference: str, system_rows: Mapping[str, Mapping[str, Any]], title: str
) -> ReportTable | None:
    """The differences of the benchmark's one number from the `reference`; `system_rows` are the rows by system."""
    if not system_rows:
        return None
    from_reference = f"difference from {reference}"
    rows: list[TableRow] = []
    for system in sorted(system_rows, key=lambda system: -system_rows[system]["value"]):
        paired = texts(system_rows[system], row.metric)
        score = Value(row.metric, row.lanes[system].value)
        rows.append(paired | {"system": system, "score": score, from_reference: paired["difference"]})
    columns = numbered("score", from_reference, "interval", "p")
    return without_equal([*text_columns("system"), *columns, *text_columns("significant")], rows, title)


def ablation(results: Results) -> list[ReportTable]:
    """The ABLATIONS with their differences from the control, a table a track and headline metric.

    There are none unless one of the two halves was evaluated beside the control.
    """
    columns = text_columns("system", "adds") + numbered("score", "difference", "interval", "n", "p")
    columns += text_columns("significant")
    tables = []
    for track in results.tracks:
        for row in results.headline(track):
            present = [system for system in ABLATIONS if system in row.lanes]
            if CONTROL not in present or not set(_HALVES) & set(present):
                continue
            rows: list[TableRow] = []
            for system in present:
                score = Value(row.metric, row.lanes[system].value)
                paired = results.difference(track, "overall", row, system, CONTROL)
                tested = texts(paired, row.metric) if paired else dict.fromkeys(it.title for it in columns)
                rows.append(tested | {"system": system, "adds": ABLATIONS[system], "score": score})
            title = initial(results.card.track_title(track))
            caption = f"{title}, {numbers.heading(row.metric)}, {numbers.count(row.n)} instances"
            tables.append(ReportTable(columns, rows, caption))
    return tables


def texts(row: Mapping[str, Any], metric: Metric) -> dict[str, Any]:
    """The cells of a difference, by the titles of their columns."""
    return {
        "metric": numbers.heading(metric),
        "difference": numbers.signed(metric, row["value"]),
        "interval": numbers.signed_interval(metric, row["low"], row["high"], row["n"]),
        "p": numbers.p(row["p"], row["n"]),
        "significant": bool(row["significant"]),
        **{name: row[name] for name in ("n", "better", "worse", "equal")},
    }
