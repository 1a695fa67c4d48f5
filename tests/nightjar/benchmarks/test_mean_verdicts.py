"""The verdict on the mean of tasks: its numbers are those of the tables of scores, and p is corrected with others."""

from __future__ import annotations

import numpy as np
import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import aggregate, compare
from nightjar.benchmarks.mean_verdicts import judge_all
from nightjar.benchmarks.scores import InstanceKey, SystemScores
from nightjar.statistics import Bootstrap, Metric, holm, verdict

SIZES = {"svamp": 12, "asdiv": 15, "dateset": 9}


def answers(seed: int, right: float) -> dict[str, np.ndarray]:
    """Return random right and wrong answers to the questions of each task."""
    rng = np.random.default_rng(seed)
    return {task: (rng.random(size) < right).astype(float) for task, size in SIZES.items()}


def version(values: dict[str, np.ndarray]) -> dict[verdict.Cell, verdict.Scored]:
    rows = [
        {
            "benchmark": "tool_use",
            "system": "mine",
            "track": task,
            "task_id": task,
            "id": f"{number:02d}",
            "metric": "accuracy",
            "value": value,
            "content": None,
        }
        for task, numbers in values.items()
        for number, value in enumerate(numbers)
    ]
    return verdict.cells(
        rows, lambda benchmark, names: [registry.load_benchmark(benchmark).metric("accuracy")]
    )


def test_the_mean_has_the_numbers_of_the_tables_and_the_tasks_are_too_few() -> None:
    now, before = answers(1, 0.9), answers(2, 0.2)
    mean, *tasks = judge_all(version(now), version(before), {}, 0.05)
    assert {row["reason"] for row in tasks} == {
        "n<20: 12 instances",
        "n<20: 15 instances",
        "n<20: 9 instances",
    }
    assert (mean["track"], mean["metric"], mean["system"], mean["n"]) == ("accuracy", "accuracy", "mine", 36)
    keys = [
        InstanceKey(task, "", task, f"{number:02d}") for task, size in SIZES.items() for number in range(size)
    ]
    systems = [
        SystemScores(name, keys, {"accuracy": np.concatenate(list(values.values()))})
        for name, values in (("now", now), ("before", before))
    ]
    card, bootstrap = registry.load_benchmark("tool_use"), Bootstrap()
    scores = {row["system"]: row for row in aggregate(card, systems, bootstrap) if row["track"] == "accuracy"}
    (difference,) = [
        row for row in compare(card, systems, [("now", "before")], bootstrap) if row["track"] == "accuracy"
    ]
    plain = {
        name: 100 * np.mean([it.mean() for it in one.values()])
        for name, one in (("now", now), ("before", before))
    }
    for name, value in plain.items():
        assert mean[name] == scores[name]["value"] == pytest.approx(value, abs=1e-4)
    assert {name: mean[name] for name in ("value", "low", "high", "p")} == {
        name: difference[name] for name in ("value", "low", "high", "p")
    }
    assert mean["verdict"] == "better" and mean["p_corrected"] == mean["p"], (
        "it is the only one that is compared"
    )


def test_p_is_corrected_for_the_mean_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "svamp", 30)
    mean, *tasks = judge_all(version(answers(1, 0.9)), version(answers(2, 0.2)), {}, 0.05)
    compared = [row for row in (mean, *tasks) if row["p"] is not None]
    assert [row["track"] for row in compared] == ["accuracy", "svamp"]
    assert [row["p_corrected"] for row in compared] == holm([row["p"] for row in compared])


def test_a_mean_with_another_task_or_another_evaluation_is_not_comparable() -> None:
    now, before = version(answers(1, 0.9)), version(answers(2, 0.2))
    reasons = dict.fromkeys(now, "other parameters: seed 1 → 2")
    mean, *_ = judge_all(now, before, reasons, 0.05)
    assert (mean["verdict"], mean["reason"]) == ("not comparable", "other parameters: seed 1 → 2")
    fewer = {cell: scored for cell, scored in before.items() if cell.track != "asdiv"}
    mean, *_ = judge_all(now, fewer, {}, 0.05)
    assert (mean["verdict"], mean["before"]) == ("not comparable", None)
    assert mean["reason"] == "the run it is compared with has no such score: ASDiv"


def test_a_benchmark_without_a_card_has_no_mean() -> None:
    scored = verdict.Scored(Metric("hits"), (("a", "1"),), (None,), np.ones((1, 1)))
    cells = {verdict.Cell("gone", "mine", track, "hits"): scored for track in ("a", "b")}
    assert len(judge_all(cells, cells, {}, 0.05)) == 2
