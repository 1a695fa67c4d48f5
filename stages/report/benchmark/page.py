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
    Section,
    Table,
    Text,
    Value,
    initial,
    texts,
)
from nightjar.benchmarks.sections import Row as TableRow
from nightjar.core import contracts, paths, tables
from nightjar.params import Params
from nightjar.statistics.bootstrap import CONFIDENCE
from stages.report import numbers
from stages.report.benchmark import (
    calls,
    differences,
    findings,
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
from stages.report.site import without_equal


@dataclass(frozen=True)
class BenchmarkPage:
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
) -> BenchmarkPage:
    """The benchmark from the artifacts in the `folder` of this run; `reads` is called for others that sections read.

    Raises NightjarError if a table is missing.
    """
    card = systems.card
    scored, predicted, questions_path = (
        folder / it / card.name for it in (paths.SCORES, paths.PREDICTIONS, paths.QUESTIONS)
    )
    facts = next((node.details for node in nodes if node.name == f"evaluate@{card.name}"), {})
    scores = from_rows(tables.read_rows(scored, contracts.INSTANCE_SCORES))
    given = calls.read(card, systems.models, predicted, scores)
    questions = questions_of(tables.read_rows(questions_path, contracts.QUESTIONS))
    table = tables.read_rows(scored, contracts.SCORES)
    return BenchmarkPage(
        systems,
        results.read(card, scored, systems.roles),
        tables.read_rows(scored, contracts.COMPARISONS),
        tables.read_rows(scored, contracts.IMPROVEMENTS),
        given,
        calls.of(card, scores, systems.models, given),
        Evaluated(card, params, systems.models, questions, scores, table, facts, folder, reads),
    )


# A row of a table of scores: track, level, title and values.
Line = tuple[str, str, str, Row]

# Rows of the heat table that all metrics of a benchmark with one number each may have, and that have their intervals.
_METRICS, _NOTED = 12, 14
# Before the name of a category; no line ends in it.
_INDENT = 3 * "\u00a0"


@dataclass(frozen=True)
class Number:
    """The one number of a benchmark: its title and its row.

    `differences` are those from `reference` by system, `best` the system that is significantly the best, "" for none.
    """

    title: str
    row: Row
    reference: str
    differences: Mapping[str, Mapping[str, Any]]
    best: str


def context(one: BenchmarkPage, number: Number | None, params: Params) -> dict[str, Any]:
    """What the template shows; `number` is None for a benchmark without scores."""
    card, found = one.systems.card, one.results
    own = card.report_sections(one.evaluated)
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
    return {
        "name": card.name,
        "title": card.title,
        "source": card.source,
        "unscored": one.unscored,
        "opposites": findings.opposites(found, number.row if number and found.mean else None),
        "heat": _heat(found) if found.tracks else None,
        "forest": _forest(found, number) if number else None,
        "explorer": instances.file(card),
        "chats": one.systems.chats,
        "missing": ", ".join(f"{count} of {name}" for name, count in missing.items() if count),
        "difference": first,
        "folded": [it for it in folded if it],
        "answered": one.answers.counts,
        "instances": {name: instances.file(card, name) for name in one.systems.models},
    }


def _lines(found: Results) -> list[Line]:
    """The rows of the heat table: track, level, title and row. Tracks, their categories indented; or all metrics."""
    lines = []
    for track in found.tracks:
        title = initial(found.card.track_title(track))
        lines.append((track, "overall", title, found.overall(track)[0]))
        lines += [(track, "category", f"{_INDENT}{row.title}", row) for row in found.categories(track)]
    if len(lines) == 1:
        track = found.tracks[0]
        lines = [
            (track, "overall", numbers.heading(row.metric), row) for row in found.overall(track)[:_METRICS]
        ]
    return lines


def _heat(found: Results) -> Table:
    """Systems by tasks, tracks, categories or metrics: a darker cell has a better score of its metric."""
    lines = _lines(found)
    metrics = {numbers.heading(row.metric) for *_, row in lines}
    metric = f"{metrics.pop()}. " if len(metrics) == 1 else ""
    explanation = f"{metric}Bold: significantly better than every other system."
    return _table("", lines, found, explanation, noted=len(lines) <= _NOTED, heat=True)


def _table(
    of: str, lines: Sequence[Line], found: Results, caption: str = "", noted: bool = True, heat: bool = False
) -> Table:
    """A row a line and a column a system; overall rows have intervals if they are `noted`."""
    ordered, rows = _by_role(found), []
    several = len({row.metric for *_, row in lines}) > 1 and any(
        title != numbers.heading(row.metric) for _, _, title, row in lines
    )
    for track, level, title, row in lines:
        cells: list[Cell] = [row.metric.title] if several else []
        cells.append(numbers.count(row.n))
        best = found.best(track, level, row)
        for system in ordered:
            if lane := row.lanes.get(system):
                ends = (lane.low, lane.high) if noted and level == "overall" else (None, None)
                share = _share(row, lane.value) if heat else None
                cells.append(Value(row.metric, lane.value, *ends, bold=system == best, heat=share))
            else:
                cells.append(None)
        rows.append(TableRow((title, *cells)))
    named = (of, "metric") if several else (of,)
    return without_equal((*texts(*named), Column("n"), *map(Column, ordered)), rows, caption)


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
    if found.mean:
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
    overall = [(track, "overall", numbers.heading(row.metric), row) for row in found.overall(track)]
    tasks = [(track, "task", row.title, row) for row in found.tasks(track)]
    blocks: list[Block] = []
    if len(overall) > 1:
        blocks.append(_table("metric", overall, found))
    if tasks:
        blocks.append(Fold(f"By task ({len(tasks)})", [_table("task", tasks, found)]))
    title = initial(found.card.track_title(track))
    return [Text(f"**{title}**"), *blocks] if blocks else []
