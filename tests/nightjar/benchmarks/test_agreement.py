"""Correlation against numpy on the plain means, gains by hand, and the random demonstration."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from nightjar.benchmarks import agreement
from nightjar.benchmarks.supernatinst import baselines
from nightjar.statistics.bootstrap import Bootstrap

BOOTSTRAP = Bootstrap(seed=1, samples=400, confidence=0.95)


def row(
    system: str, category: str, number: int, right: float, overlap: float, track: str = "default"
) -> dict[str, Any]:
    task = f"task_{category}"
    return {
        "benchmark": "supernatinst", "system": system, "track": track, "category": category, "task_id": task,
        "id": f"{task}-{number}", "exact_match": right, "rouge1": overlap, "rougeL": overlap, "calls": 0,
    }  # fmt: skip


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
    (entry,) = agreement.correlation(rows[::-1], BOOTSTRAP)
    assert entry["points"] == len(entry["of"]) == 10  # titles are no labels
    assert entry["r"] == correlated(rows, "abcde")
    assert 0 < entry["low"] < entry["r"] <= entry["high"] <= 1
    assert entry == agreement.correlation(rows[::-1], BOOTSTRAP)[0]


@pytest.mark.parametrize("systems", ["abc", "abcd"])
def test_correlation_of_few_points_has_no_interval(systems: str) -> None:
    rows = made_up(systems)
    (entry,) = agreement.correlation(rows, BOOTSTRAP)
    assert entry["points"] == 2 * len(systems) < agreement.LEAST_POINTS_FOR_AN_INTERVAL
    assert (entry["r"], entry["low"], entry["high"]) == (correlated(rows, systems), None, None)


def test_correlation_interval_is_of_resampled_instances() -> None:
    """The plain way: draw instances with a loop, take means, correlate; the ends agree."""
    rows = made_up()
    (entry,) = agreement.correlation(rows, Bootstrap(seed=1, samples=4000, confidence=0.9))
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
    (entry,) = agreement.correlation(rows, BOOTSTRAP)
    assert (entry["points"], entry["r"], entry["low"]) == (2, None, None)
    flat = [row(system, "Word Analogy", number, 0, 0.1 * number) for system in "abcd" for number in range(3)]
    assert agreement.correlation(flat, BOOTSTRAP)[0]["r"] is None
    assert agreement.correlation([row("a", "Title Generation", 0, 1, 1)], BOOTSTRAP)[0]["points"] == 0


def test_gain_over_the_better_heuristic() -> None:
    rows = [row("copy_input", "X", number, 0, 0.2) for number in range(20)]
    rows += [row("copy_demo", "X", number, 0, [0.0, 0.1, 0.3, 0.6][number % 4]) for number in range(20)]
    rows += [row("tuned", "X", number, 0, 0.5) for number in reversed(range(20))]
    rows += [row("bad", "X", number, 0, 0.0) for number in range(20)]
    tuned, bad = agreement.improvements(rows, ("copy_input", "copy_demo"), BOOTSTRAP)
    assert (tuned["system"], tuned["heuristic"], tuned["n"], tuned["value"]) == (
        "tuned",
        "copy_demo",
        20,
        25.0,
    )
    assert 10 <= tuned["low"] < 25 < tuned["high"] <= 40
    assert bad["value"] == -25 and tuned["category"] == "x"
    few = [one for one in rows if not one["id"].endswith("-19")]
    assert agreement.improvements(few, ("copy_input", "copy_demo"), BOOTSTRAP)[0]["low"] is None


def test_random_demonstration() -> None:
    task = {"positive_examples": [{"output": text} for text in "abc"]}
    instances = [{"task_id": "t", "id": str(number)} for number in range(300)]

    def drawn(seed: int, chosen: list[dict[str, str]]) -> list[str]:
        copy = baselines.baselines("random", seed)["copy_demo"]
        return [copy(one, task) for one in chosen]

    first = drawn(1, instances)
    assert min(Counter(first)[text] for text in "abc") > 70
    assert drawn(1, instances[::2]) == first[::2] and drawn(2, instances) != first
    assert baselines.baselines("random", 1)["copy_demo"](instances[0], {"positive_examples": []}) == ""
    assert baselines.baselines("first", 1)["copy_demo"](instances[0], task) == "a"
