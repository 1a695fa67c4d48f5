"""Verdicts on every score of two versions: each metric of a track, and the mean of tasks that the leaderboard shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nightjar.benchmarks import registry
from nightjar.benchmarks.average import (
    difference_of_tasks,
    joined_tasks,
    main_metrics,
    mean_of_tasks,
    mean_value,
)
from nightjar.benchmarks.benchmark import Average, Benchmark
from nightjar.statistics import Bootstrap, enough, verdict
from nightjar.statistics.metric import Metric
from nightjar.statistics.statistic import Floats

Cells = Mapping[verdict.Cell, verdict.Scored]


def judge_all(
    now: Cells, before: Cells, other_evaluations: Mapping[verdict.Cell, str], alpha: float
) -> list[dict[str, Any]]:
    """Return the rows of `verdict.judge`, and one for the mean of tasks of each benchmark and system that has one.

    The row of a mean has the name of the mean as track and metric. p is corrected for all rows together. Of each
    system the mean comes first, then the main metric of the first track.
    """
    rows = verdict.judge(now, before, other_evaluations, alpha)
    higher_is_better = {cell: scored.measure.higher_is_better for cell, scored in {**before, **now}.items()}
    for cell, card, mean in _means(now, before):
        higher_is_better[cell] = card.metric(mean.name).higher_is_better
        row = _judge_mean(card, mean, cell, now, before, other_evaluations)
        rows += [row] if (row["now"], row["before"]) != (None, None) else []
    tested = [row for row in rows if row["p"] is not None]
    cells = (verdict.Cell(*(row[name] for name in verdict.Cell._fields)) for row in tested)
    verdict.correct(tested, [higher_is_better[cell] for cell in cells], alpha)
    return sorted(rows, key=_rank)


def means_over_runs(
    now: Cells, runs: Sequence[Mapping[verdict.Cell, Floats]]
) -> dict[verdict.Cell, tuple[Metric, list[int], list[Floats]]]:
    """Return the mean of tasks of each benchmark and system of `now` as one metric of all instances.

    `runs` have the parts of the cells that may be compared. Each mean has the places of the runs that have all its
    tasks, and their parts.
    """
    means: dict[verdict.Cell, tuple[Metric, list[int], list[Floats]]] = {}
    for cell, card, mean in _means(now, {}):
        cells = list(_task_cells(card, mean, cell.system, now).values())
        places = [place for place, run in enumerate(runs) if run.keys() >= set(cells)]
        if len(cells) < len(mean.tracks) or not places or not enough(sum(len(now[it].ids) for it in cells)):
            continue
        tasks = [(card.metric(it.metric), tuple(runs[place][it] for place in places)) for it in cells]
        statistic, values = joined_tasks(tasks)
        columns = tuple(map(str, range(values.shape[2])))
        higher_is_better, decimals = card.metric(mean.name).higher_is_better, card.metric(mean.name).decimals
        # The statistic has the units of the tasks' metrics.
        metric = Metric(
            mean.name, "", columns, statistic, (0.0, 100.0), 1.0, higher_is_better, decimals=decimals
        )
        means[cell] = metric, places, list(values)
    return means


def _means(now: Cells, before: Cells) -> Iterator[tuple[verdict.Cell, Benchmark, Average]]:
    """Yield the mean of tasks of each benchmark and system that has one: its cell, its benchmark, and its tasks."""
    for benchmark, system in sorted({(cell.benchmark, cell.system) for cell in (*now, *before)}):
        if benchmark in registry.names():
            card = registry.load_benchmark(benchmark)
            if mean := _mean_of(card, now) or _mean_of(card, before):
                yield verdict.Cell(benchmark, system, mean.name, mean.name), card, mean


def _rank(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the place of a verdict: its benchmark and system, then the mean, then the card's order of scores."""
    system = row["benchmark"], row["system"]
    if row["benchmark"] not in registry.names():
        return (*system, row["track"], row["metric"])
    card = registry.load_benchmark(row["benchmark"])
    tracks, metrics = list(card.tracks), [metric.name for metric in card.metrics]
    track = tracks.index(row["track"]) if row["track"] in tracks else len(tracks)
    return (*system, not card.is_mean(row["track"]), track, row["track"], metrics.index(row["metric"]))


def _mean_of(card: Benchmark, scores: Cells) -> Average | None:
    """Return the mean that the leaderboard of a version shows; None if it shows none."""
    pairs = ((cell.track, cell.metric) for cell in scores if cell.benchmark == card.name)
    return mean_of_tasks(card, main_metrics(card, pairs))


def _judge_mean(
    card: Benchmark,
    mean: Average,
    cell: verdict.Cell,
    now: Cells,
    before: Cells,
    other_evaluations: Mapping[verdict.Cell, str],
) -> dict[str, Any]:
    """Return the row of a mean, without the correction of p.

    Instances are resampled, and swapped between the versions, within a task; p is that of the permutation test.
    """
    cells_now, cells_before = (_task_cells(card, mean, cell.system, scores) for scores in (now, before))
    tasks_now = {track: now[task] for track, task in cells_now.items()}
    tasks_before = {track: before[task] for track, task in cells_before.items()}
    reason = next((other_evaluations[it] for it in cells_now.values() if it in other_evaluations), "")
    for track in () if reason else mean.tracks:
        pair = verdict.pair(tasks_now.get(track), tasks_before.get(track))
        if isinstance(pair, str):
            reason = f"{pair}{', in ' if ':' in pair else ': '}{card.track_title(track)}"
            break
    n = sum(len(scored.ids) for scored in tasks_now.values())
    if not reason and not enough(n):
        reason = verdict.few(n)
    row: dict[str, Any] = {
        **cell._asdict(),
        **dict.fromkeys(("value", "low", "high", "p", "p_corrected", "better", "worse", "equal")),
        "verdict": "not comparable",
        "reason": reason,
        "n": n,
        "now": _value(card, mean, tasks_now),
        "before": _value(card, mean, tasks_before),
    }
    if not reason:
        parts = {
            track: (card.metric(scored.measure.name), (scored.values, tasks_before[track].values))
            for track, scored in tasks_now.items()
        }
        tested = difference_of_tasks(card, mean, parts, Bootstrap())
        row |= {name: value for name, value in tested.items() if name in row}
    return row


def _task_cells(card: Benchmark, mean: Average, system: str, scores: Cells) -> dict[str, verdict.Cell]:
    """Return the cell of the main metric of each task of the mean that a system has, in the order of the mean."""
    cells: dict[str, verdict.Cell] = {}
    for track in mean.tracks:
        for metric in card.metrics:
            cell = verdict.Cell(card.name, system, track, metric.name)
            if cell in scores:
                cells.setdefault(track, cell)
    return cells


def _value(card: Benchmark, mean: Average, tasks: Mapping[str, verdict.Scored]) -> float | None:
    """Return the mean of a system as the leaderboard shows it; None if a task is missing."""
    if len(tasks) < len(mean.tracks):
        return None
    parts = {track: (card.metric(scored.measure.name), (scored.values,)) for track, scored in tasks.items()}
    return round(mean_value(parts), card.metric(mean.name).decimals) + 0.0
