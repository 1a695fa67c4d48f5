"""From one score an instance to the numbers of a table: means with bootstrap intervals (facts 1.9).

A mean is over instances, not over tasks: a task with fewer instances weighs less, as published.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.text.metrics import METRICS
from nightjar.statistics import Bootstrap, moved, p_value, percent, seen


@lru_cache(maxsize=1024)
def category_name(category: str) -> str:
    """The published form of a category: "Textual Entailment" is textual_entailment."""
    return "_".join(category.lower().split())


def places(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], list[int]]:
    """The places of the rows of each (level, name): overall, then each category, then each task, names sorted."""
    by_category: dict[str, list[int]] = {}
    by_task: dict[str, list[int]] = {}
    count = 0
    for place, row in enumerate(rows):
        by_category.setdefault(category_name(row["category"]), []).append(place)
        by_task.setdefault(row["task_id"], []).append(place)
        count += 1
    return {
        ("overall", "overall"): list(range(count)),
        **{("category", name): by_category[name] for name in sorted(by_category)},
        **{("task", name): by_task[name] for name in sorted(by_task)},
    }


def group(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """The rows of each (level, name), in the order of `places`."""
    every = list(rows)
    return {key: [every[place] for place in of] for key, of in places(every).items()}


def aggregate(rows: Sequence[Mapping[str, Any]], bootstrap: Bootstrap) -> list[dict[str, Any]]:
    """Rows of contracts.SCORES from rows of contracts.INSTANCE_SCORES.

    Values and interval ends are percentages with 4 decimals; below MINIMUM instances the ends are None. Systems keep
    the order they come in.
    """
    cells: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["benchmark"], row["system"], row["track"]), []).append(row)
    table = []
    for (benchmark, system, track), chosen in cells.items():
        for (level, name), members in group(chosen).items():
            for metric in METRICS:
                values = np.array([row[metric] for row in members])
                cell = (benchmark, system, track, level, name, metric)
                low, high = bootstrap.percent_interval(values, *cell)
                table.append(
                    {
                        "benchmark": benchmark,
                        "system": system,
                        "track": track,
                        "level": level,
                        "name": name,
                        "metric": metric,
                        "n": len(members),
                        "value": percent(values),
                        "low": low,
                        "high": high,
                    }
                )
    return table


def compare(
    rows: Sequence[Mapping[str, Any]],
    pairs: Sequence[tuple[str, str]],
    bootstrap: Bootstrap,
    levels: Sequence[str] = ("overall",),
) -> list[dict[str, Any]]:
    """For each (system, baseline) pair the mean difference over the same instances, by track and metric.

    The bootstrap draws instances, not scores, so that what makes an instance hard for both cancels out.
    `value`, `low` and `high` are differences of percentages, the ends None below MINIMUM instances; `p` is that of
    `paired.p_value`; `better`, `worse` and `equal` count instances; `moved` is whether the difference counts as seen
    (`statistics.seen`). `levels` may name category and task too: rows of `level` and `name` follow those of the whole.
    Raises ValueError if two systems were not scored on the same instances.
    """
    scores: dict[tuple[str, str], dict[tuple[str, str], Mapping[str, Any]]] = {}
    for row in rows:
        scores.setdefault((row["system"], row["track"]), {})[row["task_id"], row["id"]] = row
    table = []
    for system, baseline in pairs:
        for track in sorted({track for name, track in scores if name == system}):
            ours, theirs = scores[system, track], scores.get((baseline, track), {})
            if ours.keys() != theirs.keys():
                raise ValueError(f"{system} and {baseline} were not scored on the same instances")
            for (level, name), members in group(ours[key] for key in sorted(ours)).items():
                if level not in levels:
                    continue
                of = [theirs[row["task_id"], row["id"]] for row in members]
                cell = {"system": system, "baseline": baseline, "track": track, "level": level, "name": name}
                for metric in METRICS:
                    values = np.array(
                        [row[metric] - other[metric] for row, other in zip(members, of, strict=True)]
                    )
                    table.append(
                        cell | {"metric": metric} | difference(values, bootstrap, *cell.values(), metric)
                    )
    return table


def difference(values: NDArray[np.float64], bootstrap: Bootstrap, *of: str) -> dict[str, Any]:
    """Mean, interval, p and counts of paired differences; `of` names the cell (see `compare`)."""
    low, high = bootstrap.percent_interval(values, "difference", *of)
    p = p_value(values, bootstrap.stream("signs", *of))
    counts = moved(values)
    return {
        "n": len(values),
        "value": percent(values),
        "low": low,
        "high": high,
        "moved": seen(p, len(values), bootstrap.confidence),
        "p": p,
        "better": counts.better,
        "worse": counts.worse,
        "equal": counts.equal,
    }
