"""The leaderboard: systems by benchmarks, one number of each, with its paired difference from the untuned system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.benchmarks.sections import Intervals
from nightjar.core.display import counted_as
from stages.report import numbers
from stages.report.benchmark import differences
from stages.report.benchmark.page import BenchmarkPage, Number
from stages.report.plots.spec import ROLES, shortened, table

FILE = "leaderboard.csv"


@dataclass(frozen=True)
class Column(Number):
    """The number of one benchmark. `published` are the values that papers print, with their sources by system; if the
    number is a mean of tasks, they are averages of the tasks of a paper's table. `roles` are those of all systems,
    `chats` how systems were asked that were asked through a chat template.
    """

    card: Benchmark
    published: Mapping[str, tuple[float, str]]
    roles: Mapping[str, str]
    chats: Mapping[str, str]

    @property
    def ranked(self) -> list[str]:
        """The systems that compete, the best first."""
        return self.row.ranked(self.roles)

    def sign(self, system: str) -> str:
        """+ or - for a system that is significantly better or worse than the reference, else nothing."""
        paired = self.differences.get(system)
        if paired is None or not paired["significant"]:
            return ""
        return "+" if (paired["value"] > 0) == self.row.metric.higher_is_better else "-"

    @property
    def significant(self) -> dict[str, list[str]]:
        """The systems that are significantly better, and those that are worse, than the reference."""
        signs = {"better": "+", "worse": "-"}
        return {
            word: [it for it in self.differences if self.sign(it) == sign] for word, sign in signs.items()
        }


def column(benchmark: BenchmarkPage) -> Column:
    """Return the mean of tasks, where each task is a track; else the number of the first track."""
    results, systems = benchmark.results, benchmark.systems
    card, reference = systems.card, systems.models[0]
    track = results.mean or results.tracks[0]
    row = results.overall(track)[0]
    paired = {system: results.difference(track, "overall", row, system, reference) for system in row.lanes}
    differences = {system: difference for system, difference in paired.items() if difference}
    best = results.best(track, "overall", row)
    title = numbers.heading(row.metric)
    if results.mean and not (card.average and card.average.name == track):
        title = f"{title}, {results.mean_title()}"
    elif not results.mean and len(card.tracks) > 1:
        title = f"{title}, {card.track_title(track)}"
    published = _published(card, track, bool(results.mean))
    return Column(title, row, reference, differences, best, card, published, systems.roles, systems.chats)


def _published(card: Benchmark, track: str, is_mean: bool) -> dict[str, tuple[float, str]]:
    """Return the published values of a track with their sources, by system.

    Of a mean that no paper has under its name, those are the averages that papers print of their tasks.
    """
    values = {row.system: (row.values[track], row.source) for row in card.papers.rows if track in row.values}
    if values or not is_mean:
        return values
    return {
        row.system: (row.average, f"{row.source}, average of {len(row.values)} tasks")
        for row in card.papers.rows
        if row.average is not None
    }


def columns_of(benchmarks: Iterable[BenchmarkPage]) -> list[Column]:
    """Return the columns of the benchmarks that have scores."""
    return [column(benchmark_page) for benchmark_page in benchmarks if benchmark_page.results.tracks]


def scores(columns: Iterable[Column]) -> dict[str, dict[str, float]]:
    """Return the number of each system by benchmark, with the decimals of `as_text`."""
    return {
        it.card.name: {
            system: round(lane.value, it.row.metric.shown_decimals + 1)
            for system, lane in it.row.lanes.items()
        }
        for it in columns
    }


def _forests(columns: Sequence[Column]) -> Intervals:
    """A small forest plot a benchmark."""
    rows = [
        (it.card.title, f"{it.title}, n = {numbers.count(it.row.n)}", it.row.metric, it.row.lanes)
        for it in columns
    ]
    return Intervals("forests", "Score of every system on each benchmark, by role", rows, 250)


def context(columns: Sequence[Column], pages: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Return the values of the template; `pages` are those of instances by benchmark and system."""
    systems = dict.fromkeys(system for column in columns for system in column.row.lanes)
    roles = {system: role for it in columns for system, role in it.roles.items()}
    rows = [
        {
            "system": system,
            "role": role,
            "chat": "; ".join(_chats(columns).get(system, ())),
            "cells": [_cell(it, system, pages) for it in columns],
        }
        for role in ROLES
        for system in systems
        if roles[system] == role
    ]
    return {
        "columns": columns,
        "rows": rows,
        "tests": sum(len(it.differences) for it in columns),
        "significant": sum(len(names) for it in columns for names in it.significant.values()),
        "plot": _forests(columns) if columns else None,
        "file": FILE,
    }


def _chats(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Return the chat templates that systems were asked through, by system."""
    by_system: dict[str, dict[str, None]] = {}
    for column in columns:
        for system, how in column.chats.items():
            by_system.setdefault(system, {})[how] = None
    return {system: list(ways) for system, ways in by_system.items()}


def _cell(column: Column, system: str, pages: Mapping[tuple[str, str], str]) -> dict[str, Any] | None:
    """Return the cell of a system; None if it was not evaluated on the benchmark."""
    if (lane := column.row.lanes.get(system)) is None:
        return None
    paired, metric = column.differences.get(system), column.row.metric
    words = ""
    if system == column.reference:
        words = "the others' differences are from this one"
    elif paired:
        texts = differences.texts(paired, metric)
        verdict = "significant" if paired["significant"] else "not significant"
        words = (
            f"{texts['difference']} {texts['interval']} from {column.reference}, p {texts['p']}, {verdict}"
        )
    return {
        "value": numbers.value(metric, lane.value),
        "interval": numbers.interval(metric, lane.low, lane.high, column.row.n),
        "best": system == column.best,
        "sign": column.sign(system).replace("-", "−"),
        "words": words,
        "href": f"{column.card.name}.html",
        "instances": pages.get((column.card.name, system), ""),
    }


def rows(columns: Sequence[Column]) -> str:
    """Return the leaderboard as CSV: a row a benchmark and system."""
    lines: list[list[Any]] = []
    for column in columns:
        names = [column.card.name, column.title]
        for system, lane in column.row.lanes.items():
            paired = column.differences.get(system, {})
            ends = [paired.get(name) for name in ("value", "low", "high", "p", "significant")]
            lines.append([*names, system, column.row.n, lane.value, lane.low, lane.high, *ends])
        for system, (value, source) in column.published.items():
            lines.append([*names, f"{system} ({source})", None, value, *[None] * 7])
    heads = ("benchmark", "number", "system", "n", "value", "low", "high")
    return table([*heads, "difference", "difference low", "difference high", "p", "significant"], lines)


# Columns of the text, and of a system's name in it, at most.
_WIDTH, _SYSTEM = 60, 24


def as_text(columns: Sequence[Column], unscored: Sequence[str] = ()) -> str:
    """The leaderboard, at most 60 characters wide: a row a system, a column a benchmark; in blocks where needed.

    `unscored` says of each benchmark without scores why it has none; these lines are not cut.
    """
    systems = list(dict.fromkeys(system for column in columns for system in column.row.lanes))
    first = 2 + min(_SYSTEM, max(map(len, ["system", *systems])))
    blocks: list[list[Column]] = []
    for column in columns:
        if not blocks or first + sum(map(_width, [*blocks[-1], column])) > _WIDTH:
            blocks.append([])
        blocks[-1].append(column)
    signs = "+ and -: significantly better and worse than the system it is compared with."
    notes = [signs] if any(it.differences for it in columns) else []
    notes += [line for it in columns for line in wrap(_note(it), _WIDTH, subsequent_indent="  ")]
    notes += [f"{system}: {'; '.join(ways)}" for system, ways in _chats(columns).items()]
    tables = [_block(block, systems, first) for block in blocks]
    return "\n\n".join([*tables, "\n".join([*notes, *unscored])]) + "\n"


def _note(column: Column) -> str:
    n = column.row.n
    compared = f"; compared with {column.reference}" if column.differences else ""
    return f"{column.card.name}: {column.title}, {counted_as(n, 'instance')}{compared}"


def _width(column: Column) -> int:
    return max(10, 2 + len(column.card.name))


def _block(columns: Sequence[Column], systems: Sequence[str], first: int) -> str:
    lines = [f"{'system':<{first}}" + "".join(f"{it.card.name:>{_width(it) - 2}}  " for it in columns)]
    for system in systems:
        if any(system in it.row.lanes for it in columns):
            cells = "".join(f"{_text_cell(it, system):>{_width(it)}}" for it in columns)
            lines.append(f"{shortened(system, _SYSTEM):<{first}}{cells}")
    return "\n".join(line.rstrip() for line in lines)


def _text_cell(column: Column, system: str) -> str:
    lane = column.row.lanes.get(system)
    if lane is None:
        return ""
    return f"{numbers.value(column.row.metric, lane.value, 1)} {column.sign(system):1}"
