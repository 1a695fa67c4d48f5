"""The mean of several tasks' scores, such as a leaderboard's: one number of tasks that have different metrics.

Each task counts the same, however many instances it has. Its instances are resampled, and swapped between two systems,
within the task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nightjar.benchmarks.capabilities import Average, Floats
from nightjar.benchmarks.card import Card, Metric
from nightjar.benchmarks.scores import Places, SystemScores
from nightjar.statistics import Bootstrap, enough, permutation_p, resampled, significant
from nightjar.statistics.statistic import Statistic

# The main metric of a task, and its parts by system: arrays of shape (instances, parts).
Cell = tuple[Metric, tuple[Floats, ...]]


def averaged(card: Card, main: Mapping[str, Metric]) -> Average | None:
    """What the one number of the benchmark is the mean of; None if it is that of one track. `main`: a metric a track.

    It is the card's average, or the mean of the main metrics of the tasks that have the most frequent unit, of those
    alone that papers have, where they have any.
    """
    if card.average and set(card.average.tracks) <= main.keys():
        return card.average
    if not card.files.by_task or len(main) < 2:
        return None
    kinds = {track: (metric.scale, metric.higher_is_better) for track, metric in main.items()}
    ((kind, _),) = Counter(kinds.values()).most_common(1)
    known = {track for it in card.papers.rows for track in it.values}
    tracks = [track for track in main if kinds[track] == kind]
    tracks = [track for track in tracks if track in known] or tracks
    ((metric, _),) = Counter(main[track] for track in tracks).most_common(1)
    return Average(metric.name, tuple(tracks))


def mean_title(card: Card, main: Mapping[str, Metric], mean: Average) -> str:
    """How many tasks there are, and which of them have another metric than the one that the mean is named after."""
    others: dict[str, list[str]] = {}
    for track in mean.tracks:
        if main[track].name != mean.name:
            others.setdefault(main[track].title, []).append(card.track_title(track))
    parts = (f"{' and '.join(titles)} by {metric}" for metric, titles in others.items())
    return ", ".join((f"mean of {len(mean.tracks)} tasks", *parts))


def average(
    card: Card, scores: SystemScores, by_track: Mapping[str, Places], bootstrap: Bootstrap | None
) -> dict[str, Any] | None:
    """{"n", "value", "low", "high"} of the card's average; None if it has none, or a task has no scores.

    The ends are None without a bootstrap, and where there is no interval (`_ends`).
    """
    cells = _cells(card, by_track, scores)
    if cells is None:
        return None
    low, high = _ends(cells, bootstrap) if bootstrap else (None, None)
    n = sum(len(values) for _, (values,) in cells.values())
    return {"n": n} | _rounded(_decimals(card), value_of(cells), low, high)


def average_difference(
    card: Card,
    ours: SystemScores,
    theirs: SystemScores,
    by_track: Mapping[str, Places],
    bootstrap: Bootstrap,
) -> dict[str, Any] | None:
    """The columns of `aggregate.difference` of the averages of two systems on the same instances, in the same order.

    None if the card has no average, or a task has no scores.
    """
    cells = _cells(card, by_track, ours, theirs)
    if cells is None:
        return None
    return difference_of(cells, _decimals(card), bootstrap)


def value_of(cells: Mapping[str, Cell]) -> float:
    """The mean of the main metrics of the tasks of one system."""
    return float(np.mean([metric.scale * _value(metric, values) for metric, (values,) in cells.values()]))


def difference_of(cells: Mapping[str, Cell], decimals: int, bootstrap: Bootstrap) -> dict[str, Any]:
    """The columns of `aggregate.difference` of the means of two systems, whose tasks are `cells`."""
    value = float(np.mean([m.scale * (_value(m, a) - _value(m, b)) for m, (a, b) in cells.values()]))
    low, high = _ends(cells, bootstrap)
    statistic, first, second = _joined(list(cells.values()))
    n = len(first)
    p = permutation_p(statistic, first, second, bootstrap.stream()) if enough(n) else None
    return {
        "n": n,
        **_rounded(decimals, value, low, high),
        "significant": significant(p, n, bootstrap.confidence),
        "p": p,
        **dict.fromkeys(("better", "worse", "equal")),
    }


def _cells(card: Card, by_track: Mapping[str, Places], *systems: SystemScores) -> dict[str, Cell] | None:
    """The cell of each task of the average; None if one is missing."""
    found: dict[str, Cell] = {}
    for track in card.average.tracks if card.average else ():
        places = by_track.get(track)
        if places is None:
            return None
        for metric in card.metrics:
            if len(systems) == 1:
                values: tuple[Floats, ...] = (systems[0].of(metric, places),)
            else:
                values = systems[0].both(systems[1], metric, places)
            if len(values[0]):
                found[track] = metric, values
                break
        else:
            return None
    return found or None


def _value(metric: Metric, values: Floats) -> float:
    return float(metric.statistic(values[None])[0])


def _ends(cells: Mapping[str, Cell], bootstrap: Bootstrap) -> tuple[float, float] | tuple[None, None]:
    """The ends of the interval of the average, or of the difference of two; each task is resampled by itself.

    The instances of all tasks together must be enough, and of each task two: of one alone every resample is the same.
    The average of a system whose resamples are all the same has none either, such as that of no right answer at all.
    """
    sizes = [len(values[0]) for _, values in cells.values()]
    if not enough(sum(sizes)) or min(sizes) < 2:
        return None, None
    gain = sum(m.scale * (_value(m, values[0]) - _value(m, values[-1])) for m, values in cells.values())
    turned = -1 if gain < 0 else 1  # the interval of the negative difference is the mirror
    total, rng = np.zeros(bootstrap.samples), bootstrap.stream()
    for metric, values in cells.values():
        drawn = resampled(metric.statistic, values[::turned], bootstrap.samples, rng)
        total += metric.scale * (drawn[0] if len(drawn) == 1 else drawn[0] - drawn[1])
    low, high = bootstrap.ends(total / len(cells))
    if len(drawn) == 1 and low == high:
        return None, None
    return (low, high) if turned > 0 else (0.0 - high, 0.0 - low)


def _decimals(card: Card) -> int:
    return card.metric(card.average.name).decimals if card.average else 0


def _rounded(decimals: int, value: float, low: float | None, high: float | None) -> dict[str, float | None]:
    ends = {"value": value, "low": low, "high": high}
    return {name: None if end is None else round(end, decimals) + 0.0 for name, end in ends.items()}


def _joined(cells: Sequence[Cell]) -> tuple[Statistic, Floats, Floats]:
    """The average as one statistic of all instances, and their parts for both systems.

    The parts of an instance are its terms, in the columns of its task.
    """
    sizes, terms = [], []
    for metric, values in cells:
        terms.append(metric.statistic.terms(np.stack(values)))
        sizes.append(terms[-1].shape[1:])
    rows, columns = (np.cumsum([0, *numbers]) for numbers in zip(*sizes, strict=True))
    joined = np.zeros((2, rows[-1], columns[-1]))
    for place, part in enumerate(terms):
        joined[:, rows[place] : rows[place + 1], columns[place] : columns[place + 1]] = part

    def value(sums: Floats, n: int) -> Floats:
        total = np.zeros(len(sums))
        for place, ((metric, _), (count, _)) in enumerate(zip(cells, sizes, strict=True)):
            own = sums[:, columns[place] : columns[place + 1]]
            total += metric.scale * metric.statistic.value(own, count)
        return total / len(cells)

    return Statistic("average", None, lambda values: values, value), joined[0], joined[1]
