"""The leaderboard: systems by benchmarks, one number of each, with its paired difference from the untuned system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nightjar.benchmarks.aggregate import aligned, by_track
from nightjar.benchmarks.average import average, average_difference
from nightjar.benchmarks.card import Average, Card
from stages.report import numbers
from stages.report.benchmark import differences
from stages.report.benchmark.page import Benchmark
from stages.report.plots.drawings import Lane
from stages.report.plots.plot import table
from stages.report.read.results import BOUND, Row

FILE = "leaderboard.csv"


@dataclass(frozen=True)
class Column:
    """The number of one benchmark: the row of its systems, and their differences from `reference` by system.

    `tracks` are those that it is the mean of; empty for the number of one track, `track`. `counts` are the numbers of
    instances by system, `published` the values of papers with their sources by system.
    """

    card: Card
    track: str
    tracks: Sequence[str]
    row: Row
    reference: str
    differences: Mapping[str, Mapping[str, Any]]
    published: Mapping[str, tuple[float, str]]

    @property
    def title(self) -> str:
        """What the number is."""
        title = numbers.heading(self.row.metric)
        if self.tracks:
            return f"{title}, mean of {len(self.tracks)} tasks"
        own = len(self.card.tracks) < 2 or (self.card.average and self.card.average.name == self.track)
        return title if own else f"{title}, {self.card.track_title(self.track)}"


def column(one: Benchmark) -> Column:
    """The card's average; else the mean of comparable tasks where each task is a track; else the first track."""
    card, found = one.systems.card, one.results
    if card.average and card.average.name in found.tracks:
        return _of_track(one, card.average.name)
    if card.files.by_task and len(found.tracks) > 1:
        return _mean(one)
    return _of_track(one, found.tracks[0])


def _of_track(one: Benchmark, track: str) -> Column:
    row, reference = one.results.overall(track)[0], one.systems.models[0]
    cell = (track, "overall", "overall", row.metric.name)
    paired = {system: differences.find(one.comparisons, system, reference, *cell) for system in row.lanes}
    published = {
        it.system: (it.values[track], it.source) for it in one.systems.card.published if track in it.values
    }
    known = {system: found for system, found in paired.items() if found}
    return Column(one.systems.card, track, (), row, reference, known, published)


def _mean(one: Benchmark) -> Column:
    """The mean of the main metrics of the tasks, of those alone that papers have, where they have any."""
    card, found = one.systems.card, one.results
    main = {track: found.overall(track)[0].metric for track in found.tracks}
    kinds = {track: (metric.scale, metric.higher_is_better) for track, metric in main.items()}
    ((kind, _),) = Counter(kinds.values()).most_common(1)
    known = {track for it in card.published for track in it.values}
    tracks = [track for track in found.tracks if kinds[track] == kind]
    tracks = [track for track in tracks if track in known] or tracks
    ((metric, _),) = Counter(main[track] for track in tracks).most_common(1)
    averaged = replace(card, average=Average(metric.name, tuple(tracks)))
    reference = next(it for it in one.scores if it.system == one.systems.models[0])
    lanes, paired, n = {}, {}, 0
    for ours in one.scores:
        places = by_track(ours)
        if (value := average(averaged, ours, places, one.bootstrap, ours.system, "mean")) is None:
            continue
        lanes[ours.system], n = Lane(value["value"], value["low"], value["high"]), value["n"]
        if ours is not reference:
            theirs = aligned(ours, reference)
            of = (ours.system, reference.system, "mean")
            if moved := average_difference(averaged, ours, theirs, places, one.bootstrap, *of):
                paired[ours.system] = moved
    values: dict[str, dict[str, tuple[float, str]]] = {}
    for it in card.published:
        for track in set(it.values) & set(tracks):
            values.setdefault(it.system, {})[track] = (it.values[track], it.source)
    published = {
        system: (
            sum(value for value, _ in of.values()) / len(of),
            next(iter(of.values()))[1].split(", table")[0],
        )
        for system, of in values.items()
        if len(of) == len(tracks)
    }
    row = Row("overall", "overall", metric, n, lanes)
    return Column(card, tracks[0], tracks, row, reference.system, paired, published)


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
            {"system": system, "cells": [_cell(it, system, pages) for it in columns]} for system in systems
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


def _cell(it: Column, system: str, pages: Mapping[tuple[str, str], str]) -> dict[str, Any] | None:
    """The cell of a system; None if it was not evaluated on the benchmark."""
    if (lane := it.row.lanes.get(system)) is None:
        return None
    paired, metric = it.differences.get(system), it.row.metric
    return {
        "value": numbers.value(metric, lane.value),
        "interval": numbers.interval(metric, lane.low, lane.high),
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
            ends = [paired.get(name) for name in ("value", "low", "high", "p", "moved")]
            found.append([it.card.name, it.title, system, it.row.n, lane.value, lane.low, lane.high, *ends])
        for system, (value, source) in it.published.items():
            found.append([it.card.name, it.title, f"{system} ({source})", None, value, *[None] * 7])
    names = ("benchmark", "number", "system", "n", "value", "low", "high")
    return table([*names, "difference", "difference low", "difference high", "p", "seen"], found)
