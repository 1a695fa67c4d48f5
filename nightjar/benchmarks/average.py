"""The mean of a benchmark's tasks: one number of tasks that have different metrics, as a leaderboard shows it.

Each task counts the same, however many instances it has. Its instances are resampled, and swapped between two systems,
within the task. The mean is a row of every table of scores: its track and its metric have the name of the mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nightjar.benchmarks.benchmark import Average, Benchmark
from nightjar.benchmarks.scores import Places, SystemScores
from nightjar.statistics import Bootstrap, enough, permutation_p, resampled, significant
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats, Statistic

# The main metric of a task, and its parts by system: arrays of shape (instances, parts).
TaskParts = tuple[Metric, tuple[Floats, ...]]


def main_metrics(card: Benchmark, pairs: Iterable[tuple[str, str]]) -> dict[str, Metric]:
    """Return the main metric of each track, in the card's order of tracks.

    `pairs` name the tracks and metrics that have scores; that of the mean is left out.
    """
    present = set(pairs)
    tracks = {track for track, _ in present if not card.is_mean(track)}
    listed = [track for track in card.tracks if track in tracks]
    return {
        track: next(metric for metric in card.metrics if (track, metric.name) in present)
        for track in (*listed, *sorted(tracks.difference(listed)))
    }


def mean_of_tasks(card: Benchmark, main: Mapping[str, Metric]) -> Average | None:
    """Return what the one number of the benchmark is the mean of; None if it is that of one track.

    It is the card's average, or the mean of the tasks whose main metrics have the most frequent unit; of those alone
    that papers have, where they have any. There is none of a single task. `main` has the main metric of each track. A
    task that has the name of the metric leaves no name for the mean: then there is none.
    """
    if card.average and set(card.average.tracks) <= main.keys():
        return card.average
    if not card.files.by_task or not main:
        return None
    units = {track: (metric.scale, metric.higher_is_better) for track, metric in main.items()}
    ((unit, _),) = Counter(units.values()).most_common(1)
    published = {track for row in card.papers.rows for track in row.values}
    tracks = [track for track in main if units[track] == unit]
    tracks = [track for track in tracks if track in published] or tracks
    ((metric, _),) = Counter(main[track] for track in tracks).most_common(1)
    return None if len(tracks) < 2 or metric.name in main else Average(metric.name, tuple(tracks))


def mean_title(card: Benchmark, main: Mapping[str, Metric], mean: Average) -> str:
    """Return how many tasks there are, and which of them have another metric than the one the mean is named after."""
    others: dict[str, list[str]] = {}
    for track in mean.tracks:
        if main[track].name != mean.name:
            others.setdefault(main[track].title, []).append(card.track_title(track))
    parts = (f"{' and '.join(titles)} by {metric}" for metric, titles in others.items())
    return ", ".join((f"mean of {len(mean.tracks)} tasks", *parts))


def mean_score(
    card: Benchmark,
    mean: Average,
    scores: SystemScores,
    by_track: Mapping[str, Places],
    bootstrap: Bootstrap | None,
) -> dict[str, Any] | None:
    """Return {"n", "value", "low", "high"} of the mean of one system; None if a task has no scores.

    The ends are None without a bootstrap, and where there is no interval (`_interval`).
    """
    tasks = _parts_by_task(card, mean, by_track, scores)
    if tasks is None:
        return None
    low, high = _interval(tasks, bootstrap) if bootstrap else (None, None)
    n = sum(len(values) for _, (values,) in tasks.values())
    return {"n": n} | _rounded(card, mean, mean_value(tasks), low, high)


def mean_difference(
    card: Benchmark,
    mean: Average,
    systems: tuple[SystemScores, SystemScores],
    by_track: Mapping[str, Places],
    bootstrap: Bootstrap,
) -> dict[str, Any] | None:
    """Return the columns of `aggregate.difference` of the means of two systems; None if a task has no scores.

    Both have the same instances in the same order.
    """
    tasks = _parts_by_task(card, mean, by_track, *systems)
    return None if tasks is None else difference_of_tasks(card, mean, tasks, bootstrap)


def mean_value(tasks: Mapping[str, TaskParts]) -> float:
    """Return the mean of the main metrics of the tasks of one system."""
    return float(np.mean([metric.scale * _value(metric, values) for metric, (values,) in tasks.values()]))


def difference_of_tasks(
    card: Benchmark, mean: Average, tasks: Mapping[str, TaskParts], bootstrap: Bootstrap
) -> dict[str, Any]:
    """Return the columns of `aggregate.difference` of the means of two systems, whose `tasks` have both parts."""
    value = float(np.mean([m.scale * (_value(m, a) - _value(m, b)) for m, (a, b) in tasks.values()]))
    low, high = _interval(tasks, bootstrap)
    statistic, (first, second) = joined_tasks(list(tasks.values()))
    n = len(first)
    p = permutation_p(statistic, first, second, bootstrap.stream()) if enough(n) else None
    return {
        "n": n,
        **_rounded(card, mean, value, low, high),
        "significant": significant(p, n, bootstrap.confidence),
        "p": p,
        **dict.fromkeys(("better", "worse", "equal")),
    }


def _parts_by_task(
    card: Benchmark, mean: Average, by_track: Mapping[str, Places], *systems: SystemScores
) -> dict[str, TaskParts] | None:
    """Return the first metric that each task of the mean has, with its parts; None if a task has none."""
    tasks: dict[str, TaskParts] = {}
    for track in mean.tracks:
        places = by_track.get(track)
        if places is None:
            return None
        for metric in card.metrics:
            if len(systems) == 1:
                values: tuple[Floats, ...] = (systems[0].of(metric, places),)
            else:
                values = systems[0].both(systems[1], metric, places)
            if len(values[0]):
                tasks[track] = metric, values
                break
        else:
            return None
    return tasks


def _value(metric: Metric, values: Floats) -> float:
    return float(metric.statistic(values[None])[0])


def _interval(
    tasks: Mapping[str, TaskParts], bootstrap: Bootstrap
) -> tuple[float, float] | tuple[None, None]:
    """Return the ends of the interval of the mean, or of the difference of two; each task is resampled by itself.

    The instances of all tasks together must be enough, and of each task two: of one alone every resample is the same.
    The mean of a system whose resamples are all the same has none either, such as that of no right answer at all.
    """
    sizes = [len(values[0]) for _, values in tasks.values()]
    if not enough(sum(sizes)) or min(sizes) < 2:
        return None, None
    gain = sum(m.scale * (_value(m, values[0]) - _value(m, values[-1])) for m, values in tasks.values())
    order = -1 if gain < 0 else 1  # the interval of the negative difference is the mirror
    total, rng = np.zeros(bootstrap.samples), bootstrap.stream()
    for metric, values in tasks.values():
        drawn = resampled(metric.statistic, values[::order], bootstrap.samples, rng)
        total += metric.scale * (drawn[0] if len(drawn) == 1 else drawn[0] - drawn[1])
    low, high = bootstrap.ends(total / len(tasks))
    if len(drawn) == 1 and low == high:
        return None, None
    return (low, high) if order > 0 else (0.0 - high, 0.0 - low)


def _rounded(
    card: Benchmark, mean: Average, value: float, low: float | None, high: float | None
) -> dict[str, float | None]:
    """Return the three numbers with the decimals of the metric that the mean is named after; never -0.0."""
    decimals = card.metric(mean.name).decimals
    numbers = {"value": value, "low": low, "high": high}
    return {
        name: None if number is None else round(number, decimals) + 0.0 for name, number in numbers.items()
    }


def joined_tasks(tasks: Sequence[TaskParts]) -> tuple[Statistic, Floats]:
    """Return the mean as one statistic of all instances, and their parts for each system or run.

    The parts of an instance are its terms, in the columns of its task.
    """
    sizes, terms = [], []
    for metric, values in tasks:
        terms.append(metric.statistic.terms(np.stack(values)))
        sizes.append(terms[-1].shape[1:])
    rows, columns = (np.cumsum([0, *numbers]) for numbers in zip(*sizes, strict=True))
    joined = np.zeros((len(terms[0]), rows[-1], columns[-1]))
    for place, part in enumerate(terms):
        joined[:, rows[place] : rows[place + 1], columns[place] : columns[place + 1]] = part

    def value(sums: Floats, n: int) -> Floats:
        total = np.zeros(len(sums))
        for place, ((metric, _), (count, _)) in enumerate(zip(tasks, sizes, strict=True)):
            task_sums = sums[:, columns[place] : columns[place + 1]]
            total += metric.scale * metric.statistic.value(task_sums, count)
        return total / len(tasks)

    return Statistic("average", None, lambda values: values, value), joined
