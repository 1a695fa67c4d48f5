"""Two questions about the scores themselves: does ROUGE-L agree with accuracy, and what is gained per task?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nightjar.benchmarks.aggregate import category_name
from nightjar.core.contracts import category_metric
from nightjar.statistics.bootstrap import Bootstrap, percent

# Fewer points lie on a line by chance.
LEAST_POINTS = 3
# Resampled instances move few points along one line: the interval is narrow because the points are few, not because
# r is certain.
LEAST_POINTS_FOR_AN_INTERVAL = 10
DECIMALS = 4

Rows = Sequence[Mapping[str, Any]]


def correlation(rows: Rows, bootstrap: Bootstrap) -> list[dict[str, Any]]:
    """Pearson's r of ROUGE-L with accuracy over the classification types, one entry a track (appendix E).

    The paper gives 0.970 and tells neither its points nor an interval. Here a point is one system on one category
    whose published metric is exact match: its mean ROUGE-L against its share of right answers. So r asks whether
    ROUGE-L would rank systems and categories as accuracy does. The interval resamples the instances of each
    category, the same for all systems, and both metrics together; systems and categories remain as they are, so it
    says nothing about others.

    Each entry: track, points, r, low, high, and the points themselves (`of`: system, category, rougeL and
    exact_match in percent). r is None with fewer than LEAST_POINTS or when a metric has one value everywhere; low and
    high are None with fewer than LEAST_POINTS_FOR_AN_INTERVAL.
    """
    table = []
    for track in sorted({row["track"] for row in rows}):
        cells = _cells([row for row in rows if row["track"] == track])
        points = [
            {
                "system": system,
                "category": category,
                "rougeL": percent(both[0]),
                "exact_match": percent(both[1]),
            }
            for category, systems in cells.items()
            for system, both in systems.items()
        ]
        entry: dict[str, Any] = {"track": track, "points": len(points), "r": None, "low": None, "high": None}
        means = np.array([both.mean(axis=1) for systems in cells.values() for both in systems.values()])
        if len(points) >= LEAST_POINTS and (means.std(axis=0) > 0).all():
            entry["r"] = round(float(np.corrcoef(means.T)[0, 1]), DECIMALS)
            enough = len(points) >= LEAST_POINTS_FOR_AN_INTERVAL
            if enough and (ends := _interval(cells, bootstrap, track)) is not None:
                entry["low"], entry["high"] = ends
        table.append({**entry, "of": points})
    return table


def _cells(rows: Rows) -> dict[str, dict[str, NDArray[np.float64]]]:
    """By category and system ROUGE-L and exact match, shape (2, instances), instances in one order throughout."""
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        if category_metric(row["category"]) == "exact_match":
            of_category = found.setdefault(category_name(row["category"]), {})
            of_category.setdefault(row["system"], []).append(row)
    return {
        category: {
            system: np.array(
                [
                    [row[metric] for row in sorted(members, key=lambda row: (row["task_id"], row["id"]))]
                    for metric in ("rougeL", "exact_match")
                ]
            )
            for system, members in found[category].items()
        }
        for category in sorted(found)
    }


def _interval(
    cells: Mapping[str, Mapping[str, NDArray[np.float64]]], bootstrap: Bootstrap, track: str
) -> tuple[float, float] | None:
    means: list[NDArray[np.float64]] = []  # a point each, shape (2, samples)
    for category, systems in cells.items():
        rng = bootstrap.stream("correlation", track, category)
        n = next(iter(systems.values())).shape[1]
        # How often each instance is drawn says all about a resample, and makes the means one product.
        counts = rng.multinomial(n, np.full(n, 1 / n), size=bootstrap.samples).T / n
        means += [both @ counts for both in systems.values()]
    one, other = np.stack(means, axis=1)  # (points, samples) each
    one, other = one - one.mean(axis=0), other - other.mean(axis=0)
    scale = np.sqrt((one**2).sum(axis=0) * (other**2).sum(axis=0))
    usable = scale > 0
    if not usable.any():
        return None
    low, high = bootstrap.ends((one * other).sum(axis=0)[usable] / scale[usable])
    return round(low, DECIMALS), round(high, DECIMALS)


def improvements(rows: Rows, heuristics: Sequence[str], bootstrap: Bootstrap) -> list[dict[str, Any]]:
    """Rows of contracts.IMPROVEMENTS: each other system's ROUGE-L minus the better heuristic's (figures 11, 12).

    The better heuristic is chosen for each task by its mean, as published, the first named where both are equal;
    since the larger of two is chosen by what is seen, gains are, if anything, told too small. Intervals resample
    the task's instances in pairs; tasks of fewer than MINIMUM instances have none.
    """
    scores: dict[tuple[str, str], dict[str, dict[str, Mapping[str, Any]]]] = {}
    for row in rows:
        of_task = scores.setdefault((row["track"], row["task_id"]), {})
        of_task.setdefault(row["system"], {})[row["id"]] = row
    table = []
    for system in dict.fromkeys(row["system"] for row in rows):
        if system in heuristics:
            continue
        for track, task_id in sorted(scores):
            of_task = scores[track, task_id]
            ids = sorted(of_task[system])
            values = {
                name: np.array([of_task[name][id]["rougeL"] for id in ids]) for name in (system, *heuristics)
            }
            better = max(heuristics, key=lambda name: float(values[name].mean()))
            gains = values[system] - values[better]
            low, high = bootstrap.percent_interval(gains, "improvement", system, track, task_id)
            one = of_task[system][ids[0]]
            table.append(
                {
                    "benchmark": one["benchmark"],
                    "system": system,
                    "track": track,
                    "category": category_name(one["category"]),
                    "task_id": task_id,
                    "heuristic": better,
                    "n": len(ids),
                    "value": percent(gains),
                    "low": low,
                    "high": high,
                }
            )
    return table
