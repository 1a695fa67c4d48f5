"""Everything that the page shows of one benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.benchmarks.aggregate import ByCall
from nightjar.benchmarks.question import questions_of
from nightjar.benchmarks.scores import from_rows
from nightjar.benchmarks.sections import (
    Cell,
    Evaluated,
    Intervals,
    ReportTable,
    TableRow,
    Value,
    initial,
    numbered,
    texts,
)
from nightjar.core import contracts, paths, tables
from nightjar.params import Params
from nightjar.statistics.bootstrap import CONFIDENCE
from stages.report import numbers
from stages.report.benchmark import (
    call_use,
    differences,
    findings,
    gains,
    instances,
    published,
)
from stages.report.plots.spec import ROLES
from stages.report.read import benchmark_results, systems
from stages.report.read.benchmark_results import CONTROL, Results, Row, Rows
from stages.report.read.facts import Node
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
    answers: call_use.Answers
    calls: Sequence[ByCall]
    evaluated: Evaluated

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
    called_answers = call_use.read(card, systems.models, predicted, scores)
    questions = questions_of(tables.read_rows(questions_path, contracts.QUESTIONS))
    table = tables.read_rows(scored, contracts.SCORES)
    return BenchmarkPage(
        systems,
        benchmark_results.read(card, scored, systems.roles),
        tables.read_rows(scored, contracts.COMPARISONS),
        tables.read_rows(scored, contracts.IMPROVEMENTS),
        called_answers,
        call_use.of(card, scores, systems.models, called_answers),
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


def context(benchmark_page: BenchmarkPage, number: Number | None, params: Params) -> dict[str, Any]:
    """Return what the template shows; `number` is None for a benchmark without scores."""
    card, results = benchmark_page.systems.card, benchmark_page.results
    models, lines = benchmark_page.systems.models, benchmark_page.calls
    may_call = {name: systems.may_call(params, card.name, name) for name in models}
    mean = number.row if number and results.mean else None
    missing = benchmark_page.evaluated.facts.get("missing_predictions", {})
    return {
        "card": card,
        "unscored": benchmark_page.unscored,
        "opposites": [*findings.exceeded_bounds(results, mean), *findings.opposites(results, mean)],
        "heat": _heat(results) if results.tracks else None,
        "forest": _forest(results, number) if number else None,
        "explorer": instances.file(card),
        "chats": benchmark_page.systems.chats,
        "missing": [f"{count} of {name}" for name, count in missing.items() if count],
        "difference": number
        and differences.of_number(number.row, number.reference, number.differences, number.title),
        "differences": differences.between(results, benchmark_page.comparisons, models),
        "paper_tables": published.tables(card, results, lines),
        "ablation": differences.ablation(results),
        "control": CONTROL,
        "sections": card.report_sections(benchmark_page.evaluated),
        "details": [it for track in results.tracks for it in _details(results, track)],
        "gains": gains.plots(card, benchmark_page.improvements, results.roles),
        "calls": call_use.context(card, benchmark_page.answers, may_call, lines),
        "answered": benchmark_page.answers.counts,
        "instances": {name: instances.file(card, name) for name in models},
    }


def _lines(results: Results) -> list[Line]:
    """The rows of the heat table: track, level, title and row. Tracks, their categories indented; or all metrics."""
    lines = []
    for track in results.tracks:
        title = initial(results.card.track_title(track))
        lines.append((track, "overall", title, results.overall(track)[0]))
        lines += [(track, "category", f"{_INDENT}{row.title}", row) for row in results.categories(track)]
    if len(lines) == 1:
        track = results.tracks[0]
        lines = [
            (track, "overall", numbers.heading(row.metric), row) for row in results.overall(track)[:_METRICS]
        ]
    return lines


def _heat(results: Results) -> ReportTable:
    """Systems by tasks, tracks, categories or metrics: a darker cell has a better score of its metric."""
    lines = _lines(results)
    metrics = {numbers.heading(row.metric) for *_, row in lines}
    metric = f"{metrics.pop()}. " if len(metrics) == 1 else ""
    explanation = f"{metric}Bold: significantly better than every other system."
    return _table("", lines, results, explanation, noted=len(lines) <= _NOTED, heat=True)


def _table(
    of: str,
    lines: Sequence[Line],
    results: Results,
    caption: str = "",
    noted: bool = True,
    heat: bool = False,
) -> ReportTable:
    """A row a line and a column a system; overall rows have intervals if they are `noted`."""
    ordered = _by_role(results)
    rows: list[TableRow] = []
    several = len({row.metric for *_, row in lines}) > 1 and any(
        title != numbers.heading(row.metric) for _, _, title, row in lines
    )
    for track, level, title, row in lines:
        cells: list[Cell] = [row.metric.title] if several else []
        cells.append(row.n)
        best = results.best(track, level, row)
        for system in ordered:
            if lane := row.lanes.get(system):
                ends = (lane.low, lane.high) if noted and level == "overall" else (None, None)
                share = _share(row, lane.value) if heat else None
                cells.append(Value(row.metric, lane.value, *ends, bold=system == best, heat=share))
            else:
                cells.append(None)
        rows.append((title, *cells))
    named = (of, "metric") if several else (of,)
    return without_equal(texts(*named) + numbered("n", *ordered), rows, caption)


def _by_role(results: Results) -> list[str]:
    return sorted(
        results.systems,
        key=lambda system: list(ROLES).index(results.roles.get(system, "baseline")),
    )


def _share(row: Row, value: float) -> float:
    """The place of a value in the range of its metric, or up to the highest one where that has no end; 1 is best."""
    low, high = numbers.axis(row.metric, row.highest)
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    return share if row.metric.higher_is_better else 1 - share


def _forest(results: Results, number: Number) -> Intervals:
    """The benchmark's mean of tasks, else the headline metrics of its first tracks."""
    card = results.card
    rows = [
        (numbers.heading(row.metric), f"{title}, n = {numbers.count(row.n)}", row.metric, row.lanes)
        for track in results.tracks
        for row in results.headline(track)
        for title in [initial(card.track_title(track))]
    ][:_PANELS]
    if results.mean:
        rows = [(number.title, f"n = {numbers.count(number.row.n)}", number.row.metric, number.row.lanes)]
    label = f"Scores of every system with {CONFIDENCE:.0%} intervals, {card.title}"
    return Intervals(f"forest-{card.name}", label, rows, 270)


# Panels of the forest plot, at most.
_PANELS = 4


def _details(results: Results, track: str) -> list[tuple[str, ReportTable | None, ReportTable | None]]:
    """The title of a track with the table of its metrics and that of its tasks; empty if it has neither."""
    overall = [(track, "overall", numbers.heading(row.metric), row) for row in results.overall(track)]
    tasks = [(track, "task", row.title, row) for row in results.tasks(track)]
    tables = (
        _table("metric", overall, results) if len(overall) > 1 else None,
        _table("task", tasks, results) if tasks else None,
    )
    return [(initial(results.card.track_title(track)), *tables)] if any(tables) else []
