"""Correlation against numpy on the plain means."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from nightjar.benchmarks.scores import SystemScores, from_rows
from nightjar.benchmarks.supernatinst import metrics as agreement
from nightjar.benchmarks.supernatinst.metrics import category_metric
from nightjar.statistics.bootstrap import Bootstrap

BOOTSTRAP = Bootstrap(seed=1, samples=400, confidence=0.95)


def row(
    system: str, category: str, number: int, right: float, overlap: float, track: str = "default"
) -> dict[str, Any]:
    task = f"task_{category}"
    return {
        "system": system, "track": track, "category": category, "task_id": task, "id": f"{task}-{number}",
        "exact_match": right, "rougeL": overlap,
    }  # fmt: skip


def scored(rows: list[dict[str, Any]]) -> list[SystemScores]:
    return from_rows(
        {**one, "part": part, "unscaled": one[part]} for one in rows for part in ("rougeL", "exact_match")
    )


def correlation(rows: list[dict[str, Any]], bootstrap: Bootstrap = BOOTSTRAP) -> list[dict[str, Any]]:
    return agreement.correlation(scored(rows), category_metric, bootstrap)


def made_up(systems: str = "abcde") -> list[dict[str, Any]]:
    """Two categories whose answers are labels, and one of other texts: two points a system."""
    source = random.Random(2)
    rows = []
    for place, system in enumerate(systems):
        level = 0.2 + 0.6 * place / (len(systems) - 1)
        for category in ("Textual Entailment", "Word Analogy", "Title Generation"):
            for number in range(30):
                right = float(source.random() < level)
                rows.append(row(system, category, number, right, max(right, source.random() * level)))
    return rows


def correlated(rows: list[dict[str, Any]], systems: str) -> float:
    means = [
        [np.mean([one[metric] for one in rows if (one["system"], one["category"]) == (system, category)])
         for metric in ("rougeL", "exact_match")]
        for system in systems for category in ("Textual Entailment", "Word Analogy")
    ]  # fmt: skip
    return round(float(np.corrcoef(np.array(means).T)[0, 1]), 4)


def test_correlation() -> None:
    rows = made_up()
    (entry,) = correlation(rows[::-1], BOOTSTRAP)
    assert entry["points"] == len(entry["of"]) == 10  # titles are no labels
    assert entry["r"] == correlated(rows, "abcde")
    assert 0 < entry["low"] < entry["r"] <= entry["high"] <= 1
    assert entry == correlation(rows[::-1], BOOTSTRAP)[0]


@pytest.mark.parametrize("systems", ["abc", "abcd"])
def test_correlation_of_few_points_has_no_interval(systems: str) -> None:
    rows = made_up(systems)
    (entry,) = correlation(rows, BOOTSTRAP)
    assert entry["points"] == 2 * len(systems) < agreement.LEAST_POINTS_FOR_AN_INTERVAL
    assert (entry["r"], entry["low"], entry["high"]) == (correlated(rows, systems), None, None)


def test_correlation_interval_is_of_resampled_instances() -> None:
    """The plain way: draw instances with a loop, take means, correlate; the ends agree."""
    rows = made_up()
    (entry,) = correlation(rows, Bootstrap(seed=1, samples=4000, confidence=0.9))
    cells = {(one["system"], one["category"]): [] for one in rows if one["category"] != "Title Generation"}
    for one in rows:
        if (one["system"], one["category"]) in cells:
            cells[one["system"], one["category"]].append((one["rougeL"], one["exact_match"]))
    source, found = random.Random(4), []
    for _ in range(2000):
        drawn = {
            category: source.choices(range(30), k=30) for category in ("Textual Entailment", "Word Analogy")
        }
        points = np.array(
            [np.mean([of[number] for number in drawn[key[1]]], axis=0) for key, of in cells.items()]
        )
        found.append(np.corrcoef(points.T)[0, 1])
    assert [entry["low"], entry["high"]] == pytest.approx(np.quantile(found, [0.05, 0.95]).tolist(), abs=0.01)


def test_not_enough_points() -> None:
    rows = [row("a", "Word Analogy", 0, 1, 1), row("a", "Textual Entailment", 0, 0, 0)]
    (entry,) = correlation(rows, BOOTSTRAP)
    assert (entry["points"], entry["r"], entry["low"]) == (2, None, None)
    flat = [row(system, "Word Analogy", number, 0, 0.1 * number) for system in "abcd" for number in range(3)]
    assert correlation(flat, BOOTSTRAP)[0]["r"] is None
    assert correlation([row("a", "Title Generation", 0, 1, 1)], BOOTSTRAP)[0]["points"] == 0
