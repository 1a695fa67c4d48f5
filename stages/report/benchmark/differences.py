"""Paired differences of systems: which are shown, what calls and evidence add, and what is above the upper bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nightjar.benchmarks.card import Metric
from nightjar.benchmarks.sections import Block, Cell, Column, Fold, Row, Section, Table, Text, Value, initial
from nightjar.statistics import MINIMUM, too_few
from nightjar.statistics.bootstrap import CONFIDENCE
from stages.report import numbers
from stages.report.read.results import BOUND, CONTROL, Results, Rows, category_title
from stages.report.read.results import Row as Line

# Recipes that differ only in what they add to the control, and what that is.
ABLATIONS = {
    CONTROL: "neither",
    "calls_only": "tool calls",
    "evidence_only": "evidence",
    "combined": "tool calls and evidence",
}
_HALVES = ("calls_only", "evidence_only")


def find(
    rows: Rows, system: str, baseline: str, track: str, level: str, name: str, metric: str
) -> dict[str, Any] | None:
    """The row of contracts.COMPARISONS of system - baseline, from either direction; None if there is none."""
    cell = {"track": track, "level": level, "name": name, "metric": metric}
    for row in rows:
        if cell.items() <= row.items():
            if (row["system"], row["baseline"]) == (system, baseline):
                return dict(row)
            if (row["system"], row["baseline"]) == (baseline, system):
                return _turned(row)
    return None


def _turned(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same difference the other way round."""
    low, high = (None if row[end] is None else -row[end] for end in ("high", "low"))
    return {
        **row,
        "system": row["baseline"],
        "baseline": row["system"],
        "value": -row["value"],
        "low": low,
        "high": high,
        "better": row["worse"],
        "worse": row["better"],
    }


def section(results: Results, rows: Rows, models: Sequence[str]) -> Section | None:
    """The differences between `models`, of which the first is the untuned one; None if there are none to show first."""
    main, others, by_category = chosen(results, rows, models)
    if not main:
        return None
    blocks: list[Block] = [
        Text(
            "Instances are resampled in pairs, so what makes one hard for both systems cancels out. p is two-sided, of "
            "a permutation test that swaps the two systems' answers; better, worse and equal count instances. A "
            f"difference is significant if p is at most {1 - CONFIDENCE:g}. Fewer than {MINIMUM} instances have "
            f"neither interval nor p ({too_few(0)}). p is not corrected for the number of rows."
        ),
        _table(results, main),
    ]
    if others:
        blocks.append(Fold(f"Other pairs ({len(others)})", [_table(results, others)]))
    if by_category:
        note = "Each by the metric that is published for it. So many tests find some differences by chance."
        table = _table(results, by_category, by_category=True)
        blocks.append(Fold(f"By category ({len(by_category)})", [Text(note, note=True), table]))
    return Section("differences", "Differences on the same instances", blocks, "Differences")


def chosen(results: Results, rows: Rows, models: Sequence[str]) -> tuple[Rows, Rows, Rows]:
    """Rows over all instances that come first, those of other pairs, and the first ones' rows by category.

    The first ones are those of the paper's own system from every other; if it is not among the models, those from the
    untuned model and from the control, the bound from the control alone; of all pairs, if the benchmark has no control
    either.
    """
    order = {track: at for at, track in enumerate(results.tracks)}
    between = [row for row in rows if {row["system"], row["baseline"]} <= set(models)]
    between.sort(key=lambda row: order.get(row["track"], len(order)))
    main: list[Mapping[str, Any]] = []
    others: list[Mapping[str, Any]] = []
    for row in between:
        pair = _main(row, models, results.card.papers.system)
        (main if pair else others).append(pair or row)

    def of(level: str, some: Rows, cells: Callable[[str], Sequence[Line]]) -> Rows:
        known = {(track, row.name, row.metric.name) for track in results.tracks for row in cells(track)}
        return [
            row
            for row in some
            if row["level"] == level and (row["track"], row["name"], row["metric"]) in known
        ]

    return (
        of("overall", main, results.headline),
        of("overall", others, results.headline),
        of("category", main, results.categories),
    )


def _main(row: Mapping[str, Any], models: Sequence[str], compared: str) -> Mapping[str, Any] | None:
    """The row of the system that is compared, or from one that others are compared with; None for other pairs."""
    if compared in models:
        row = _turned(row) if row["baseline"] == compared else row
        return row if row["system"] == compared else None
    if CONTROL not in models:
        return row
    references = (models[0], CONTROL)
    if row["system"] in references and row["baseline"] not in references:
        row = _turned(row)
    if row["baseline"] not in references or (row["system"] == BOUND and row["baseline"] != CONTROL):
        return None
    return row


def _table(results: Results, rows: Rows, by_category: bool = False) -> Table:
    made = []
    for row in rows:
        one = texts(row, results.card.metric(row["metric"]))
        cells: list[Cell] = [category_title(row["name"])] if by_category else []
        cells += [f"{row['system']} − {row['baseline']}", results.card.track_title(row["track"])]
        cells += [one["metric"], one["n"], *_tested(row, results.card.metric(row["metric"]))]
        cells += [
            *(one[name] for name in ("better", "worse", "equal")),
            "yes" if one["significant"] else "no",
        ]
        made.append(Row(cells))
    named = (*(("category",) if by_category else ()), "systems", "track", "metric")
    numbered = ("n", "difference", "interval", "p", "better", "worse", "equal")
    heads = (*(Column(name, "text") for name in named), *map(Column, numbered), Column("significant", "text"))
    return Table(heads, made)


def _tested(row: Mapping[str, Any], metric: Metric) -> list[Cell]:
    """A difference, its interval and its p."""
    one = texts(row, metric)
    return [value(row, metric, noted=False), one["interval"], one["p"]]


def value(row: Mapping[str, Any], metric: Metric, noted: bool = True) -> Value:
    """A difference, bold if it is significant, with its interval below it if it is `noted`."""
    low, high, n = (row["low"], row["high"], row["n"]) if noted else (None, None, 0)
    return Value(metric, row["value"], low, high, n, signed=True, bold=bool(row["significant"]))


def ablation(results: Results, rows: Rows) -> Section | None:
    """What helps: for each track and headline metric the ABLATIONS with their differences from the control.

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
                found = find(rows, system, CONTROL, track, "overall", "overall", metric.name)
                tested: list[Cell] = [None] * 5
                if found:
                    difference, interval, p = _tested(found, metric)
                    verdict = "yes" if found["significant"] else "no"
                    tested = [difference, interval, numbers.count(found["n"]), p, verdict]
                lines.append(Row((system, ABLATIONS[system], score, *tested)))
            title = initial(results.card.track_title(track))
            caption = f"{title}, {numbers.heading(metric)}, {numbers.count(row.n)} instances"
            numbered = map(Column, ("score", "difference", "interval", "n", "p"))
            heads = (Column("system", "text"), Column("adds", "text"), *numbered)
            tables.append(Table((*heads, Column("significant", "text")), lines, caption))
    if not tables:
        return None
    told = (
        "The same instances train each of these systems; they differ only in what is added to the training texts and "
        f"the prompts. Differences are paired, from {CONTROL}, which adds neither; p is two-sided and not corrected "
        "for the number of rows. Each system was trained once, so the intervals hold for these weights, not for "
        "another training."
    )
    return Section("arms", "What helps", [Text(told), *tables])


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


def notes(results: Results, comparisons: Rows) -> dict[str, dict[str, Any]]:
    """For each track the sentences for its headline, categories and tasks.

    `comparisons` are rows of contracts.COMPARISONS. Scores that are equal as they are shown count as equal.
    """
    return {track: _track(results, track, comparisons) for track in results.tracks}


def blocks(notes: Sequence[str]) -> list[Text]:
    """The sentences with what they mean, as a part of a section; empty without any."""
    told = (
        f"{BOUND} is trained on other instances of the test tasks, so the highest score is expected of it. Where "
        "another system is above it, its score is no upper bound:"
    )
    return [Text(told, note=True, items=notes)] if notes else []


def _track(results: Results, track: str, comparisons: Rows) -> dict[str, Any]:
    tasks = results.tasks(track)
    over = sum(bool(_above(row)) for row in tasks)
    return {
        "headline": [
            note for row in results.headline(track) for note in _notes(row, track, "overall", comparisons)
        ],
        "categories": [
            note for row in results.categories(track) for note in _notes(row, track, "category", comparisons)
        ],
        "tasks": f"On {over} of {len(tasks)} tasks another system is above the upper bound. No paired difference is "
        "computed for single tasks, because they have few instances."
        if over
        else "",
    }


def _above(row: Line) -> list[str]:
    """The systems that are better than the bound by the values as they are shown."""
    return [system for system in row.lanes if BOUND in row.lanes and row.above(system, BOUND)]


def _notes(row: Line, track: str, level: str, comparisons: Rows) -> list[str]:
    title = row.metric.title if level == "overall" else f"{row.title}, {row.metric.title}"
    found = []
    for system in _above(row):
        paired = find(comparisons, system, BOUND, track, level, row.name, row.metric.name)
        ours, bound = (numbers.value(row.metric, row.lanes[one].value) for one in (system, BOUND))
        found.append(
            f"{title}: {system} ({ours}) is above the upper bound, {BOUND} ({bound}): "
            f"{_difference(row.metric, paired)}."
        )
    return found


def _difference(metric: Metric, paired: Mapping[str, Any] | None) -> str:
    if paired is None:
        return "no paired difference was computed"
    value = numbers.signed(metric, paired["value"])
    if paired["p"] is None:
        return f"the paired difference is {value}, {too_few(paired['n'])}"
    ends = numbers.signed_interval(metric, paired["low"], paired["high"], paired["n"])
    p = numbers.p(paired["p"], paired["n"])
    verdict = "significant" if paired["significant"] else "not significant"
    return f"the paired difference is {value} {ends}, p {p if p.startswith('<') else f'= {p}'}, {verdict}"
