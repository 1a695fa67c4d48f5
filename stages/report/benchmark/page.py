"""Everything that the page shows of one benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.aggregate import ByCall
from nightjar.benchmarks.question import questions_of
from nightjar.benchmarks.scores import SystemScores, from_rows
from nightjar.benchmarks.sections import (
    Block,
    Cell,
    Column,
    Evaluated,
    Fold,
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
from nightjar.statistics.bootstrap import CONFIDENCE
from stages.report import numbers, site
from stages.report.benchmark import (
    calls,
    differences,
    gains,
    instances,
    published,
)
from stages.report.plots import kinds
from stages.report.plots.spec import ROLES, Plot
from stages.report.read import results, systems
from stages.report.read.facts import Node
from stages.report.read.results import Results, Row, Rows
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
        results.read(card, scored, systems.roles),
        tables.read_rows(scored, contracts.COMPARISONS),
        tables.read_rows(scored, contracts.IMPROVEMENTS),
        given,
        calls.of(card, scores, systems.models, given),
        Evaluated(card, params, systems.models, questions, scores, table, facts, folder, reads),
    )


# Rows of the heat table that all metrics of a benchmark with one number each may have, and that have their intervals.
_METRICS, _NOTED = 12, 14


@dataclass(frozen=True)
class Number:
    """The one number of a benchmark: its title, the tracks that it is the mean of, if any, and its row.

    `differences` are those from `reference` by system, `best` the system that is significantly the best, "" for none.
    """

    title: str
    tracks: Sequence[str]
    row: Row
    reference: str
    differences: Mapping[str, Mapping[str, Any]]
    best: str


def context(one: Benchmark, number: Number | None, params: Params) -> dict[str, Any]:
    """What the template shows; `number` is None for a benchmark without scores."""
    card, found = one.systems.card, one.results
    making = card.capability(ReportSections)
    own = making.make(one.evaluated) if making else ()
    may_call = {name: systems.may_call(params, card.name, name) for name in one.systems.models}
    first = (
        differences.of_number(number.row, number.reference, number.differences, number.title)
        if number
        else None
    )
    folded = (
        differences.section(found, one.comparisons, one.systems.models),
        published.section(card, found, one.calls),
        differences.ablation(found),
        *own,
        _details(found),
        gains.section(card, one.improvements),
        calls.section(card, one.answers, may_call, one.calls),
    )
    missing = one.evaluated.facts.get("missing_predictions", {})
    roles = one.systems.roles
    return {
        "name": card.name,
        "title": card.title,
        "source": card.source,
        "unscored": one.unscored,
        "heat": site.section_context(Section("heat", "", [_heat(found)]), roles) if found.tracks else None,
        "forest": _forest(found, number) if number else None,
        "explorer": instances.file(card),
        "chats": one.systems.chats,
        "missing": ", ".join(f"{count} of {name}" for name, count in missing.items() if count),
        "sections": [site.section_context(it, roles) for it in (first,) if it],
        "folded": [site.section_context(it, roles) for it in folded if it],
        "answered": one.answers.counts,
        "instances": {name: instances.file(card, name) for name in one.systems.models},
    }


def _lines(found: Results) -> list[tuple[str, str, str, Row]]:
    """The rows of the heat table: track, level, title and row. Tracks, and categories below them; or all metrics."""
    lines = []
    for track in found.tracks:
        title = initial(found.card.track_title(track))
        lines.append((track, "overall", title, found.overall(track)[0]))
        lines += [(track, "category", row.title, row) for row in found.categories(track)]
    if len(lines) == 1:
        track = found.tracks[0]
        lines = [
            (track, "overall", numbers.heading(row.metric), row) for row in found.overall(track)[:_METRICS]
        ]
    return lines


def _heat(found: Results) -> Table:
    """Systems by tasks, tracks, categories or metrics: a darker cell has a better score of its metric."""
    lines, ordered = _lines(found), _by_role(found)
    titles = [title for _, _, title, _ in lines]
    several = len({row.metric for *_, row in lines}) > 1 and titles[0] != numbers.heading(lines[0][3].metric)
    rows = []
    for track, level, title, row in lines:
        cells: list[Cell] = [row.metric.title] if several else []
        cells.append(numbers.count(row.n))
        best, whole = found.best(track, level, row), level == "overall"
        for system in ordered:
            if lane := row.lanes.get(system):
                noted = (lane.low, lane.high) if whole and len(lines) <= _NOTED else (None, None)
                heat = _share(row, lane.value)
                cells.append(Value(row.metric, lane.value, *noted, bold=system == best, heat=heat))
            else:
                cells.append(None)
        rows.append(Line((title, *cells)))
    heads = (Column("", "text"), *((Column("metric", "text"),) if several else ()), Column("n"))
    metrics = {numbers.heading(row.metric) for *_, row in lines}
    metric = f"{metrics.pop()}. " if len(metrics) == 1 else ""
    return Table(
        (*heads, *map(Column, ordered)), rows, f"{metric}Bold: significantly better than every other system."
    )


def _by_role(found: Results) -> list[str]:
    return sorted(found.systems, key=lambda system: list(ROLES).index(found.roles.get(system, "baseline")))


def _share(row: Row, value: float) -> float:
    """The place of a value in the range of its metric, or up to the highest one where that has no end; 1 is best."""
    low, high = numbers.axis(row.metric, row.highest)
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    return share if row.metric.higher_is_better else 1 - share


def _forest(found: Results, number: Number) -> Plot:
    """The benchmark's mean of tasks, else the headline metrics of its first tracks."""
    card = found.card
    rows = [
        (numbers.heading(row.metric), f"{title}, n = {numbers.count(row.n)}", row.metric, row.lanes)
        for track in found.tracks
        for row in found.headline(track)
        for title in [initial(card.track_title(track))]
    ][:_PANELS]
    if number.tracks or card.average:
        rows = [(number.title, f"n = {numbers.count(number.row.n)}", number.row.metric, number.row.lanes)]
    label = f"Scores of every system with {CONFIDENCE:.0%} intervals, {card.title}"
    return kinds.forest(f"forest-{card.name}", label, rows, found.roles, 270)


# Panels of the forest plot, at most.
_PANELS = 4


def _details(found: Results) -> Section | None:
    """The tables of all tracks; None if there are none."""
    blocks = [it for track in found.tracks for it in _detail(found, track)]
    return Section("detail", "All metrics and tasks", blocks) if blocks else None


def _detail(found: Results, track: str) -> list[Block]:
    overall, tasks = found.overall(track), found.tasks(track)
    blocks: list[Block] = []
    if len(overall) > 1:
        blocks.append(_table("metric", overall, found, track, "overall"))
    if tasks:
        blocks.append(Fold(f"By task ({len(tasks)})", [_table("task", tasks, found, track, "task")]))
    title = initial(found.card.track_title(track))
    return [Text(f"**{title}**"), *blocks] if blocks else []


def _table(of: str, rows: Sequence[Row], found: Results, track: str, level: str) -> Table:
    """A table with a row for each of `rows` and a column a system; single tasks have no intervals."""
    lines, ordered = [], _by_role(found)
    for row in rows:
        best = found.best(track, level, row)
        cells: list[Cell] = [] if of == "metric" else [row.metric.title]
        cells.append(numbers.count(row.n))
        for system in ordered:
            if lane := row.lanes.get(system):
                ends = (None, None) if of == "task" else (lane.low, lane.high)
                cells.append(Value(row.metric, lane.value, *ends, bold=system == best))
            else:
                cells.append(None)
        lines.append(Line((row.title if of != "metric" else numbers.heading(row.metric), *cells)))
    named = (of,) if of == "metric" else (of, "metric")
    return Table((*(Column(name, "text") for name in named), Column("n"), *map(Column, ordered)), lines)
