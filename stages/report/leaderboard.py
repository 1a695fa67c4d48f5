"""The leaderboard: systems by benchmarks, one number of each, with its paired difference from the untuned system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from nightjar.benchmarks.benchmark import Benchmark
from nightjar.core.display import counted_as
from stages.report import numbers
from stages.report.benchmark import differences
from stages.report.benchmark.page import BenchmarkPage, Number
from stages.report.plots import kinds
from stages.report.plots.spec import ROLES, Plot, shortened, table
from stages.report.read.results import Results

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


def sentences(columns: Sequence[Column], data: str) -> list[str]:
    """What was evaluated on what `data`, how the systems rank, and which differences are significant."""
    systems = {system for it in columns for system in it.row.lanes}
    n, tests = sum(it.row.n for it in columns), 0
    ranks: list[str] = []
    found: dict[str, list[str]] = {"+": [], "-": []}
    for it in columns:
        tests += sum(system != it.reference for system in it.differences)
        some = [
            f"{one} {numbers.value(it.row.metric, it.row.lanes[one].value)}"
            for one in it.row.ranked(it.roles)
        ]
        some[:1] = [f"**{one}**" if it.best else one for one in some[:1]]
        ranks += [f"{' before '.join(some[:2])} ({it.card.title})"] if some else []
        for sign, parts in found.items():
            if named := [system for system in it.differences if _sign(it, system) == sign]:
                parts.append(
                    f"{' and '.join(filter(None, (', '.join(named[:-1]), named[-1])))} ({it.card.title})"
                )
    count = sum(_sign(it, system) != " " for it in columns for system in it.differences)
    words = (("+", "better"), ("-", "worse"))
    parts = [f"; {word}: {', '.join(found[sign])}" for sign, word in words if found[sign]]
    return [
        f"{counted_as(len(systems), 'system')} answered {counted_as(n, 'instance')} of "
        f"{counted_as(len(columns), 'benchmark')}{data}.",
        f"Highest scores without people and upper bounds: {'; '.join(ranks)}.",
        f"{count} of {tests} differences from each benchmark's reference are significant{''.join(parts)}.",
    ]


def forests(columns: Sequence[Column]) -> Plot:
    """A small forest plot a benchmark, its systems by role."""
    rows = [
        (it.card.title, f"{it.title}, n = {numbers.count(it.row.n)}", it.row.metric, it.row.lanes)
        for it in columns
    ]
    roles = {system: role for it in columns for system, role in it.roles.items()}
    return kinds.forest("forests", "Score of every system on each benchmark, by role", rows, roles, 210)


def context(columns: Sequence[Column], pages: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """What the template shows; `pages` are those of instances by benchmark and system."""
    systems = dict.fromkeys(system for column in columns for system in column.row.lanes)
    roles = {system: role for it in columns for system, role in it.roles.items()}
    return {
        "file": FILE,
        "plot": forests(columns) if columns else None,
        "columns": [
            {
                "name": it.card.name,
                "title": it.card.title,
                "metric": it.title + ("" if it.row.metric.higher_is_better else ", lower is better"),
                "n": numbers.count(it.row.n),
                "reference": it.reference,
            }
            for it in columns
        ],
        "groups": [
            (
                role,
                [
                    {
                        "system": system,
                        "chat": "; ".join(_chats(columns).get(system, ())),
                        "cells": [_cell(it, system, pages) for it in columns],
                    }
                    for system in some
                ],
            )
            for role in ROLES
            if (some := [system for system in systems if roles[system] == role])
        ],
        "published": [
            {
                "title": it.card.title,
                "metric": it.title,
                "rows": [
                    (name, numbers.value(it.row.metric, value), source)
                    for name, (value, source) in it.published.items()
                ],
            }
            for it in columns
            if it.published
        ],
    }


def _chats(columns: Sequence[Column]) -> dict[str, list[str]]:
    """How the systems were asked that were asked through a chat template."""
    found: dict[str, dict[str, None]] = {}
    for it in columns:
        for system, how in it.chats.items():
            found.setdefault(system, {})[how] = None
    return {system: list(ways) for system, ways in found.items()}


def _cell(it: Column, system: str, pages: Mapping[tuple[str, str], str]) -> dict[str, Any] | None:
    """The cell of a system; None if it was not evaluated on the benchmark."""
    if (lane := it.row.lanes.get(system)) is None:
        return None
    paired, metric = it.differences.get(system), it.row.metric
    sign, words = "", ""
    if system == it.reference:
        words = "the others' differences are from this one"
    elif paired:
        one = differences.texts({"system": system, "baseline": it.reference, **paired}, metric)
        verdict = "significant" if paired["significant"] else "not significant"
        words = f"{one['value']} {one['interval']} from {it.reference}, p {one['p']}, {verdict}"
        sign = _sign(it, system).replace("-", "−")
    return {
        "value": numbers.value(metric, lane.value),
        "interval": numbers.interval(metric, lane.low, lane.high, it.row.n),
        "best": system == it.best,
        "sign": sign.strip(),
        "words": words,
        "href": f"{it.card.name}.html",
        "instances": pages.get((it.card.name, system), ""),
    }


def _sign(column: Column, system: str) -> str:
    """+ or - for a system that is significantly better or worse than the reference, else a blank."""
    paired = column.differences.get(system)
    if paired is None or not paired["significant"]:
        return " "
    return "+" if (paired["value"] > 0) == column.row.metric.higher_is_better else "-"


def rows(columns: Sequence[Column]) -> str:
    """The leaderboard as CSV: a row a benchmark and system."""
    found = []
    for it in columns:
        for system, lane in it.row.lanes.items():
            paired = it.differences.get(system, {})
            ends = [paired.get(name) for name in ("value", "low", "high", "p", "significant")]
            found.append([it.card.name, it.title, system, it.row.n, lane.value, lane.low, lane.high, *ends])
        for system, (value, source) in it.published.items():
            found.append([it.card.name, it.title, f"{system} ({source})", None, value, *[None] * 7])
    names = ("benchmark", "number", "system", "n", "value", "low", "high")
    return table([*names, "difference", "difference low", "difference high", "p", "significant"], found)


# Columns of the text, and of a system's name in it, at most.
_WIDTH, _SYSTEM = 80, 24


def entries(results: Results) -> list[dict[str, Any]]:
    """One entry a track and system: its instances and each headline metric with the ends of its interval.

    Keys: benchmark, track, system, n, and for each metric its name with the value in the metric's unit, `<name>_low`
    and `<name>_high`, which are None for too few instances. A metric that the system lacks is left out.
    """
    found = []
    for track in results.tracks:
        rows = results.headline(track)
        for system in results.systems:
            if not any(system in row.lanes for row in rows):
                continue
            entry = {"benchmark": results.card.name, "track": track, "system": system, "n": rows[0].n}
            for row in rows:
                if lane := row.lanes.get(system):
                    name = row.metric.name
                    entry |= {name: lane.value, f"{name}_low": lane.low, f"{name}_high": lane.high}
            found.append(entry)
    return found


def as_text(columns: Sequence[Column], unscored: Sequence[str] = ()) -> str:
    """The leaderboard, at most 80 characters wide: a row a system, a column a benchmark; in blocks where needed.

    `unscored` says of each benchmark without scores why it has none; these lines are not cut.
    """
    systems = list(dict.fromkeys(system for column in columns for system in column.row.lanes))
    first = 2 + min(_SYSTEM, max(map(len, ["system", *systems])))
    blocks: list[list[Column]] = []
    for it in columns:
        if not blocks or first + sum(map(_width, [*blocks[-1], it])) > _WIDTH:
            blocks.append([])
        blocks[-1].append(it)
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
    return f"{numbers.value(column.row.metric, lane.value, 1)} {_sign(column, system)}"
