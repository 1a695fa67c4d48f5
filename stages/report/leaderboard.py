"""The leaderboard: systems by benchmarks, one number of each, with its paired difference from the untuned system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nightjar.benchmarks.aggregate import aligned, by_track
from nightjar.benchmarks.average import average, average_difference, averaged
from nightjar.benchmarks.capabilities import Average
from nightjar.benchmarks.card import Card
from nightjar.benchmarks.sections import Interval
from nightjar.core.display import counted_as
from nightjar.statistics import Bootstrap
from stages.report import numbers
from stages.report.benchmark import differences
from stages.report.benchmark.page import Benchmark
from stages.report.plots.curves import shortened
from stages.report.plots.svg import table
from stages.report.read.results import BOUND, Results, Row

FILE = "leaderboard.csv"


@dataclass(frozen=True)
class Column:
    """The number of one benchmark: the row of its systems, and their differences from `reference` by system.

    `tracks` are those that it is the mean of; empty for the number of one track, `track`. `counts` are the numbers of
    instances by system, `published` the values of papers with their sources by system, `chats` how systems were asked
    that were asked through a chat template.
    """

    card: Card
    track: str
    tracks: Sequence[str]
    row: Row
    reference: str
    differences: Mapping[str, Mapping[str, Any]]
    published: Mapping[str, tuple[float, str]]
    chats: Mapping[str, str]

    @property
    def title(self) -> str:
        """What the number is."""
        title = numbers.heading(self.row.metric)
        if self.tracks:
            return f"{title}, mean of {len(self.tracks)} tasks"
        own = len(self.card.tracks) < 2 or (self.card.average and self.card.average.name == self.track)
        return title if own else f"{title}, {self.card.track_title(self.track)}"


def column(one: Benchmark) -> Column:
    """The card's average; else the mean of comparable tasks where each task is a track; else the first track.

    Shares from 0 to 1 become percentages, so that the columns have one unit.
    """
    card, found = one.systems.card, one.results
    if card.average and card.average.name in found.tracks:
        return _in_percent(_of_track(one, card.average.name))
    main = {track: found.overall(track)[0].metric for track in found.tracks}
    if mean := averaged(card, main):
        return _in_percent(_mean(one, mean))
    return _in_percent(_of_track(one, found.tracks[0]))


def _in_percent(it: Column) -> Column:
    """The column in percent if its metric is from 0 to 1; others, such as perplexities, as they are."""
    if it.row.metric.range != (0.0, 1.0):
        return it

    def percent(number: float | None) -> Any:
        return None if number is None else round(100 * number, 6)

    metric = replace(it.row.metric, scale=100 * it.row.metric.scale, range=(0.0, 100.0))
    lanes = {
        system: Interval(*map(percent, (one.value, one.low, one.high)))
        for system, one in it.row.lanes.items()
    }
    paired = {
        system: {**one, **{name: percent(one[name]) for name in ("value", "low", "high")}}
        for system, one in it.differences.items()
    }
    published = {system: (percent(value), source) for system, (value, source) in it.published.items()}
    row = replace(it.row, metric=metric, lanes=lanes)
    return replace(it, row=row, differences=paired, published=published)


def _of_track(one: Benchmark, track: str) -> Column:
    row, reference = one.results.overall(track)[0], one.systems.models[0]
    cell = (track, "overall", "overall", row.metric.name)
    paired = {system: differences.find(one.comparisons, system, reference, *cell) for system in row.lanes}
    published = {
        it.system: (it.values[track], it.source) for it in one.systems.card.papers.rows if track in it.values
    }
    known = {system: found for system, found in paired.items() if found}
    return Column(one.systems.card, track, (), row, reference, known, published, one.systems.chats)


def _mean(one: Benchmark, mean: Average) -> Column:
    """The mean of the main metrics of tasks, which is no average of the card's own."""
    tracks, card = mean.tracks, one.systems.card
    card = card.with_capabilities(mean)
    reference = next(it for it in one.scores if it.system == one.systems.models[0])
    lanes, paired, n, bootstrap = {}, {}, 0, Bootstrap()
    for ours in one.scores:
        places = by_track(ours)
        if (value := average(card, ours, places, bootstrap)) is None:
            continue
        lanes[ours.system], n = Interval(value["value"], value["low"], value["high"]), value["n"]
        if ours is not reference:
            theirs = aligned(ours, reference)
            if difference := average_difference(card, ours, theirs, places, bootstrap):
                paired[ours.system] = difference
    values: dict[str, dict[str, tuple[float, str]]] = {}
    for it in card.papers.rows:
        for track in tracks:  # in their order: a sum of floats depends on it
            if track in it.values:
                values.setdefault(it.system, {})[track] = (it.values[track], it.source)
    published = {
        system: (
            sum(value for value, _ in of.values()) / len(of),
            next(iter(of.values()))[1].split(", table")[0],
        )
        for system, of in values.items()
        if len(of) == len(tracks)
    }
    row = Row("overall", "overall", card.metric(mean.name), n, lanes)
    chats = one.systems.chats
    return Column(one.systems.card, tracks[0], tracks, row, reference.system, paired, published, chats)


def context(columns: Sequence[Column], pages: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """What the template shows; `pages` are those of instances by benchmark and system."""
    systems = dict.fromkeys(system for column in columns for system in column.row.lanes)
    return {
        "file": FILE,
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
        "rows": [
            {
                "system": system,
                "chat": "; ".join(_chats(columns).get(system, ())),
                "cells": [_cell(it, system, pages) for it in columns],
            }
            for system in systems
        ],
        "published": [
            {
                "title": it.card.title,
                "sources": "; ".join(dict.fromkeys(source for _, source in it.published.values())),
                "rows": [
                    {
                        "system": name,
                        "cells": [
                            numbers.value(it.row.metric, value) if other is it else "" for other in columns
                        ],
                    }
                    for name, (value, _) in it.published.items()
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
    return {
        "value": numbers.value(metric, lane.value),
        "interval": numbers.interval(metric, lane.low, lane.high, it.row.n),
        "best": it.row.is_best(system),
        "bound": system == BOUND,
        "reference": system == it.reference,
        "href": f"{it.card.name}.html#" + ("headline" if it.tracks else f"{it.track}-{system}"),
        "instances": pages.get((it.card.name, system), ""),
        "difference": paired
        and differences.texts({"system": system, "baseline": it.reference, **paired}, metric),
    }


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
_WIDTH, _SYSTEM = 100, 24


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
    """The leaderboard, at most 100 characters wide: a row a system, a column a benchmark; in blocks where needed.

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
    notes += [shortened(_note(it), _WIDTH) for it in columns]
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
    lane, paired = column.row.lanes.get(system), column.differences.get(system)
    if lane is None:
        return ""
    better = paired is not None and (paired["value"] > 0) == column.row.metric.higher_is_better
    sign = " " if paired is None or not paired["significant"] else "+" if better else "-"
    return f"{numbers.value(column.row.metric, lane.value, 1)} {sign}"
