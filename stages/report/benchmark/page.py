"""Everything that the page shows of one benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from nightjar.benchmarks.aggregate import ByCall
from nightjar.benchmarks.card import Card
from nightjar.benchmarks.question import questions_of
from nightjar.benchmarks.scores import SystemScores, from_rows
from nightjar.benchmarks.sections import (
    Block,
    Cell,
    Column,
    Evaluated,
    Fold,
    Intervals,
    Noted,
    ReportSections,
    Section,
    Table,
    Text,
    Value,
    initial,
)
from nightjar.benchmarks.sections import Row as Line
from nightjar.core import contracts, paths, tables
from nightjar.params import Params
from nightjar.statistics import too_few
from stages.report import numbers, site
from stages.report.benchmark import (
    calls,
    differences,
    gains,
    instances,
    published,
)
from stages.report.plots import drawings
from stages.report.read import results, systems
from stages.report.read.facts import Node
from stages.report.read.results import BOUND, HEADLINE, Results, Row, Rows
from stages.report.read.systems import Systems


@dataclass(frozen=True)
class Benchmark:
    """The tables of one benchmark: scores, rows of contracts.COMPARISONS and IMPROVEMENTS, and answers with calls.

    `calls` are the scores by call. `evaluated` is what the card makes its own sections of, with the facts of the stage
    evaluate.
    """

    systems: Systems
    results: Results
    comparisons: Rows
    improvements: Rows
    answers: calls.Answers
    calls: Sequence[ByCall]
    evaluated: Evaluated

    @property
    def scores(self) -> Sequence[SystemScores]:
        """The scores of all systems."""
        return self.evaluated.scores

    @property
    def unscored(self) -> str:
        """Why there are no scores, and what to do with the predictions; empty if there are scores."""
        return str(self.evaluated.facts.get("nothing_to_score", ""))


def read(
    systems: Systems, nodes: Sequence[Node], params: Params, folder: Path, reads: Callable[[Path], None]
) -> Benchmark:
    """The benchmark from the artifacts in the `folder` of this run; `reads` is called for others that sections read.

    Raises NightjarError if a table is missing.
    """
    card = systems.card
    scored, predicted, asked = (
        folder / it / card.name for it in (paths.SCORES, paths.PREDICTIONS, paths.QUESTIONS)
    )
    facts = next((node.details for node in nodes if node.name == f"evaluate@{card.name}"), {})
    scores = from_rows(tables.read_rows(scored, contracts.INSTANCE_SCORES))
    given = calls.read(card, systems.models, predicted, scores)
    questions = questions_of(tables.read_rows(asked, contracts.QUESTIONS))
    table = tables.read_rows(scored, contracts.SCORES)
    return Benchmark(
        systems,
        results.read(card, scored),
        tables.read_rows(scored, contracts.COMPARISONS),
        tables.read_rows(scored, contracts.IMPROVEMENTS),
        given,
        calls.of(card, scores, systems.models, given),
        Evaluated(card, params, systems.models, questions, scores, table, facts, folder, reads),
    )


def context(one: Benchmark, order: Mapping[str, int], params: Params) -> dict[str, Any]:
    """What the template shows; `order` is the place of each system among those of all benchmarks."""
    card, found = one.systems.card, one.results
    notes = differences.notes(found, one.comparisons)
    making = card.capability(ReportSections)
    own = making.make(one.evaluated) if making else ()
    may_call = {name: systems.may_call(params, card.name, name) for name in one.systems.models}
    listed = (
        differences.ablation(found, one.comparisons),
        published.section(card, found, one.calls, one.comparisons),
        *own,
        differences.section(found, one.comparisons, one.systems.models),
        _details(found, notes),
        gains.section(card, one.improvements),
        calls.section(card, one.answers, may_call, one.calls),
    )
    missing = one.evaluated.facts.get("missing_predictions", {})
    return {
        "name": card.name,
        "title": card.title,
        "source": card.source,
        "unscored": one.unscored,
        "systems": found.systems,
        "side_by_side": len(found.tracks) > 3
        and all(len(found.headline(track)) == 1 for track in found.tracks),
        "headline": [_headline(one, track, order, notes[track]["headline"]) for track in found.tracks],
        "explorer": instances.file(card),
        "missing": ", ".join(f"{count} of {name}" for name, count in missing.items() if count),
        "sections": [site.section_context(it, order) for it in listed if it],
        "answered": one.answers.counts,
        "instances": {name: instances.file(card, name) for name in one.systems.models},
    }


def _headline(one: Benchmark, track: str, order: Mapping[str, int], notes: Sequence[str]) -> dict[str, Any]:
    rows = one.results.headline(track)
    return {
        "track": track,
        "title": initial(one.systems.card.track_title(track)),
        "n": rows[0].n,
        "columns": [_column(row) for row in rows],
        "rows": [
            {
                "system": system,
                "bound": system == BOUND,
                "chat": one.systems.chats.get(system, ""),
                "cells": [_cell(row, system) | {"strip": _strip(row, system, order)} for row in rows],
            }
            for system in one.results.systems
            if system in rows[0].lanes
        ],
        "published": [
            {"source": source, "rows": list(group)}
            for source, group in groupby(
                _published(one.systems.card, track, rows[0]), lambda row: row["source"]
            )
        ],
        "notes": notes,
    }


def _column(row: Row) -> dict[str, str]:
    low, high = numbers.axis(row.metric, row.highest)
    direction = "" if row.metric.higher_is_better else ", lower is better"
    return {"title": numbers.heading(row.metric) + direction, "axis": f"{low:.4g} to {high:.4g}"}


def _strip(row: Row, system: str, order: Mapping[str, int]) -> Markup:
    lane = row.lanes.get(system)
    return Markup() if lane is None else drawings.strip(lane, order[system], row.metric, row.highest)


def _published(card: Card, track: str, row: Row) -> list[dict[str, str]]:
    return [
        {"system": it.system, "value": numbers.value(row.metric, it.values[track]), "source": it.source}
        for it in card.papers.rows
        if track in it.values and track not in published.shown(card)
    ]


def _details(found: Results, notes: Mapping[str, Mapping[str, Any]]) -> Section | None:
    """The plots and tables of all tracks; None if there are none."""
    blocks = [it for track in found.tracks for it in _detail(found, track, notes[track])]
    return Section("detail", "Scores in detail", blocks, "Detail") if blocks else None


def _detail(found: Results, track: str, notes: Mapping[str, Any]) -> list[Block]:
    overall, categories, tasks = found.overall(track), found.categories(track), found.tasks(track)
    blocks: list[Block] = []
    if len(overall) > HEADLINE:
        blocks.append(Fold("All metrics", [_table("metric", overall, found.systems)]))
    if categories:
        caption = "By category, each by the metric that is published for it"
        blocks += [*_plots(found, track, categories), _table("category", categories, found.systems, caption)]
        blocks += differences.blocks(notes["categories"])
    if tasks:
        remark = [Text(notes["tasks"], note=True)] if notes["tasks"] else []
        blocks.append(Fold(f"By task ({len(tasks)})", [_table("task", tasks, found.systems), *remark]))
    title = initial(found.card.track_title(track))
    return [Text(f"**{title}**"), *blocks] if blocks else []


def _table(of: str, rows: Sequence[Row], systems: Sequence[str], caption: str = "") -> Table:
    """A table with a row for each of `rows` and a column a system; single tasks have no intervals."""
    lines = []
    for row in rows:
        few = too_few(row.n) if all(lane.low is None for lane in row.lanes.values()) else ""
        bare = bool(few) or of == "task"
        cells: list[Cell] = [] if of == "metric" else [row.metric.title]
        cells.append(Noted(numbers.count(row.n), "" if of == "task" else few))
        for system in systems:
            if lane := row.lanes.get(system):
                ends = (None, None, 0) if bare else (lane.low, lane.high, row.n)
                cells.append(Value(row.metric, lane.value, *ends, bold=row.is_best(system)))
            else:
                cells.append(None)
        lines.append(Line((row.title if of != "metric" else numbers.heading(row.metric), *cells)))
    named = (of,) if of == "metric" else (of, "metric")
    columns = (*(Column(name, "text") for name in named), Column("n"), *map(Column, systems))
    return Table(columns, lines, caption)


def _cell(row: Row, system: str) -> dict[str, Any]:
    """A value and its interval as texts."""
    lane = row.lanes.get(system)
    if lane is None:
        return {"value": "–", "interval": "", "best": False}
    return {
        "value": numbers.value(row.metric, lane.value),
        "interval": numbers.interval(row.metric, lane.low, lane.high, row.n),
        "best": row.is_best(system),
    }


def _plots(found: Results, track: str, categories: Sequence[Row]) -> list[Intervals]:
    """A drawing of all categories; one for each range if their metrics have several."""
    by_range: dict[tuple[float, float], list[Row]] = {}
    for row in categories:
        by_range.setdefault(row.metric.range, []).append(row)
    label = f"Score of every system in each category, {found.card.title}, {found.card.track_title(track)}"
    return [
        Intervals(
            f"scores-{found.card.name}-{track}{f'-{place + 1}' if place else ''}",
            label,
            [(row.title, f"{row.metric.title}, n = {row.n}", row.metric, row.lanes) for row in rows],
        )
        for place, rows in enumerate(by_range.values())
    ]
