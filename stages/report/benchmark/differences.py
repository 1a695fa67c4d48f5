"""Paired differences of systems: which are shown, and what calls and evidence add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.sections import (
    Block,
    Cell,
    Fold,
    Paragraph,
    ReportColumn,
    ReportRow,
    ReportTable,
    Section,
    Value,
    initial,
)
from nightjar.statistics import MINIMUM, too_few
from nightjar.statistics.bootstrap import CONFIDENCE
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


def section(results: Results, rows: Rows, models: Sequence[str]) -> Section | None:
    """The differences between `models` by headline metric; by category those from the first model. None if none."""

    def listed(level: str, cells: Callable[[str], Sequence[Row]]) -> Rows:
        known_cells = {(track, row.name, row.metric.name) for track in results.tracks for row in cells(track)}
        listed_rows = [
            row
            for row in rows
            if row["level"] == level
            and (row["track"], row["name"], row["metric"]) in known_cells
            and {row["system"], row["baseline"]} <= set(models)
        ]
        return sorted(listed_rows, key=lambda row: results.tracks.index(row["track"]))

    overall = listed("overall", results.headline)
    by_category = [row for row in listed("category", results.categories) if row["baseline"] == models[0]]
    if not overall:
        return None
    explanation = (
        "Instances are resampled in pairs, so what makes one hard for both systems cancels out. p is two-sided, of "
        "a permutation test that swaps the two systems' answers; better, worse and equal count instances. A "
        f"difference is significant if p is at most {1 - CONFIDENCE:g}. Fewer than {MINIMUM} instances have "
        f"neither interval nor p ({too_few(0)}). p is not corrected for the number of rows."
    )
    blocks: list[Block] = [Paragraph(explanation, note=True), _table(results, overall)]
    if by_category:
        note = "Each by the metric that is published for it. So many tests find some differences by chance."
        table = _table(results, by_category, by_category=True)
        blocks.append(Fold(f"By category ({len(by_category)})", [Paragraph(note, note=True), table]))
    return Section("differences", "All differences on the same instances", blocks)


def of_number(
    row: Row, reference: str, system_rows: Mapping[str, Mapping[str, Any]], title: str
) -> ReportTable | None:
    """The differences of the benchmark's one number from the `reference`; `system_rows` are the rows by system."""
    if not system_rows:
        return None
    lines = []
    for system in sorted(system_rows, key=lambda system: -system_rows[system]["value"]):
        paired = {"system": system, "baseline": reference, **system_rows[system]}
        cells: list[Cell] = [Value(row.metric, row.lanes[system].value), *_tested(paired, row.metric)]
        lines.append(ReportRow((system, *cells, "yes" if paired["significant"] else "no")))
    numbered = map(ReportColumn, ("score", f"difference from {reference}", "interval", "p"))
    return without_equal(
        (ReportColumn("system", "text"), *numbered, ReportColumn("significant", "text")), lines, title
    )


def _table(results: Results, rows: Rows, by_category: bool = False) -> ReportTable:
    table_rows = []
    for row in rows:
        row_texts = texts(row, results.card.metric(row["metric"]))
        cells: list[Cell] = [category_title(row["name"])] if by_category else []
        cells += [f"{row['system']} − {row['baseline']}", results.card.track_title(row["track"])]
        cells += [row_texts["metric"], row_texts["n"], *_tested(row, results.card.metric(row["metric"]))]
        cells += [
            *(row_texts[name] for name in ("better", "worse", "equal")),
            "yes" if row_texts["significant"] else "no",
        ]
        table_rows.append(ReportRow(cells))
    named = (*(("category",) if by_category else ()), "systems", "track", "metric")
    numbered = ("n", "difference", "interval", "p", "better", "worse", "equal")
    heads = (
        *(ReportColumn(name, "text") for name in named),
        *map(ReportColumn, numbered),
        ReportColumn("significant", "text"),
    )
    return without_equal(heads, table_rows)


def _tested(row: Mapping[str, Any], metric: Metric) -> list[Cell]:
    """A difference, its interval and its p."""
    row_texts = texts(row, metric)
    return [row_texts["value"], row_texts["interval"], row_texts["p"]]


def ablation(results: Results) -> Section | None:
    """Return the section of what helps: the ABLATIONS with their differences from the control, by headline metric.

    None unless one of the two halves was evaluated beside the control.
    """
    tables = []
    for track in results.tracks:
        for row in results.headline(track):
            present = [system for system in ABLATIONS if system in row.lanes]
            if CONTROL not in present or not set(_HALVES) & set(present):
                continue
            metric, lines = row.metric, []
            for system in present:
                score = Value(metric, row.lanes[system].value)
                difference_row = results.difference(track, "overall", row, system, CONTROL)
                tested: list[Cell] = [None] * 5
                if difference_row:
                    difference, interval, p = _tested(difference_row, metric)
                    verdict = "yes" if difference_row["significant"] else "no"
                    tested = [difference, interval, numbers.count(difference_row["n"]), p, verdict]
                lines.append(ReportRow((system, ABLATIONS[system], score, *tested)))
            title = initial(results.card.track_title(track))
            caption = f"{title}, {numbers.heading(metric)}, {numbers.count(row.n)} instances"
            numbered = map(ReportColumn, ("score", "difference", "interval", "n", "p"))
            heads = (ReportColumn("system", "text"), ReportColumn("adds", "text"), *numbered)
            tables.append(ReportTable((*heads, ReportColumn("significant", "text")), lines, caption))
    if not tables:
        return None
    explanation = (
        "The same instances train each of these systems; they differ only in what is added to the training texts and "
        f"the prompts. Differences are paired, from {CONTROL}, which adds neither; p is two-sided and not corrected "
        "for the number of rows. Each system was trained once, so the intervals hold for these weights, not for "
        "another training."
    )
    return Section("ablation", "What helps", [Paragraph(explanation), *tables])


def texts(row: Mapping[str, Any], metric: Metric) -> dict[str, Any]:
    """The cells of a difference, as texts."""
    return {
        "system": row["system"],
        "baseline": row["baseline"],
        "metric": numbers.heading(metric),
        "n": numbers.count(row["n"]),
        "value": numbers.signed(metric, row["value"]),
        "interval": numbers.signed_interval(metric, row["low"], row["high"], row["n"]),
        "p": numbers.p(row["p"], row["n"]),
        "significant": bool(row["significant"]),
        "few": too_few(row["n"]) if row["p"] is None else "",
        **{name: numbers.count(row[name]) for name in ("better", "worse", "equal")},
    }
