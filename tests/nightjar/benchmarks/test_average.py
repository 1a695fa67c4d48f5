"""The average of tasks against plain Python, and its interval and test against slow ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import aggregate, by_track, compare, reported_mean
from nightjar.benchmarks.average import mean_difference, mean_of_tasks, mean_score, mean_title
from nightjar.benchmarks.benchmark import Average
from nightjar.benchmarks.scores import InstanceKey, SystemScores
from nightjar.core import contracts
from nightjar.statistics import Bootstrap, geometric_mean
from nightjar.statistics.metric import Metric
from tests.made_benchmark import BENCHMARK as MADE
from tests.made_benchmark import changed

BENCHMARK = changed(
    MADE,
    metrics=(
        Metric("rouge", "ROUGE", ("r1", "r2"), geometric_mean),
        Metric("accuracy", "accuracy"),
        Metric("score", "average"),
    ),
    average=Average("score", ("a", "b")),
)
MEAN = Average("score", ("a", "b"))
BOOTSTRAP = Bootstrap(seed=7, samples=4000, confidence=0.95)
SIZES = {"a": 30, "b": 60}


def system(name: str, seed: int, better: float = 0.0, sizes: dict[str, int] = SIZES) -> SystemScores:
    rng = np.random.default_rng(seed)
    keys = [
        InstanceKey(task, "", task, str(number)) for task, size in sizes.items() for number in range(size)
    ]
    of_a = np.array([key.task_id == "a" for key in keys])
    parts = {part: np.where(of_a, rng.random(len(keys)), np.nan) for part in ("r1", "r2")}
    parts["accuracy"] = np.where(of_a, np.nan, (rng.random(len(keys)) < 0.5 + better).astype(float))
    return SystemScores(name, keys, parts)


def plain(one: SystemScores, places: dict[str, np.ndarray]) -> float:
    a, b = places["a"], places["b"]
    rouge = (one.parts["r1"][a].mean() * one.parts["r2"][a].mean()) ** 0.5
    return 100 * (rouge + one.parts["accuracy"][b].mean()) / 2


@pytest.mark.parametrize(
    "sizes", [SIZES, {"a": 5, "b": 60}], ids=["enough instances", "a task with few instances"]
)
def test_the_interval_resamples_within_each_task(sizes: dict[str, int]) -> None:
    """The rule is for each number: 65 instances are enough for the mean, whatever one task has."""
    ours = system("x", 1, sizes=sizes)
    places = by_track(ours)
    rng = np.random.default_rng(0)
    drawn = [plain(ours, {t: rng.choice(p, len(p)) for t, p in places.items()}) for _ in range(8000)]
    mean = mean_score(BENCHMARK, MEAN, ours, places, BOOTSTRAP)
    assert mean is not None
    ends = np.quantile(drawn, [0.025, 0.975])
    assert (mean["low"], mean["high"]) == pytest.approx(ends, abs=0.5 if sizes is SIZES else 0.8)


def test_the_difference_and_its_test_swap_within_instances() -> None:
    ours, theirs = system("x", 1, 0.2), system("y", 2)
    places = by_track(ours)
    found = mean_difference(BENCHMARK, MEAN, (ours, theirs), places, BOOTSTRAP)
    assert found is not None
    seen = plain(ours, places) - plain(theirs, places)
    assert found["value"] == pytest.approx(seen, abs=1e-4)
    rng = np.random.default_rng(0)
    extreme = 0
    for _ in range(4000):
        swap = rng.random(90) < 0.5
        mixed = [
            replace(
                one, parts={name: np.where(swap, other.parts[name], one.parts[name]) for name in one.parts}
            )
            for one, other in ((ours, theirs), (theirs, ours))
        ]
        extreme += abs(plain(mixed[0], places) - plain(mixed[1], places)) >= abs(seen) - 1e-9
    assert found["p"] == pytest.approx(extreme / 4000, abs=0.03)
    drawn = []
    for _ in range(4000):
        again = {t: rng.choice(p, len(p)) for t, p in places.items()}
        drawn.append(plain(ours, again) - plain(theirs, again))
    assert (found["low"], found["high"]) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.8)


def test_there_is_none_without_all_tasks_and_no_interval_of_few_instances() -> None:
    few = system("x", 1, sizes={"a": 5, "b": 14})
    found = mean_score(BENCHMARK, MEAN, few, by_track(few), BOOTSTRAP)
    assert found is not None and found["low"] is None and found["high"] is None
    other = mean_difference(
        BENCHMARK, MEAN, (few, system("y", 2, sizes={"a": 5, "b": 14})), by_track(few), BOOTSTRAP
    )
    assert other is not None and (other["low"], other["p"], other["significant"]) == (None, None, False)
    one = system("x", 1, sizes={"b": 60})
    assert mean_score(BENCHMARK, MEAN, one, by_track(one), BOOTSTRAP) is None
    assert mean_difference(BENCHMARK, MEAN, (one, one), by_track(one), BOOTSTRAP) is None
    assert reported_mean(MADE, [few]) is None
    same = mean_difference(BENCHMARK, MEAN, (few, few), by_track(few), BOOTSTRAP)
    assert same is not None and (same["value"], same["p"], same["significant"]) == (0.0, None, False)


def test_a_task_with_few_instances_is_compared_and_one_with_one_instance_has_no_interval() -> None:
    ours, theirs = (system(name, seed, sizes={"a": 5, "b": 60}) for name, seed in (("x", 1), ("y", 2)))
    places = by_track(ours)
    forth, back = (
        mean_difference(BENCHMARK, MEAN, (one, other), places, BOOTSTRAP)
        for one, other in ((ours, theirs), (theirs, ours))
    )
    assert forth is not None and back is not None
    assert (forth["low"], forth["high"], forth["p"]) == (-back["high"], -back["low"], back["p"])
    assert forth["low"] < forth["value"] < forth["high"] and 0 < forth["p"] <= 1
    lone = system("x", 1, sizes={"a": 1, "b": 60})
    found = mean_score(BENCHMARK, MEAN, lone, by_track(lone), BOOTSTRAP)
    assert found is not None and found["low"] is None, "every resample of one instance is the same"
    wrong = replace(ours, parts={name: 0 * values for name, values in ours.parts.items()})
    found = mean_score(BENCHMARK, MEAN, wrong, places, BOOTSTRAP)
    assert found == {"n": 65, "value": 0.0, "low": None, "high": None}, "no interval without width"


def test_it_is_a_track_of_the_tables() -> None:
    ours, theirs = system("x", 1, 0.2), system("y", 2)
    scores = aggregate(BENCHMARK, [ours, theirs], BOOTSTRAP)
    compared = compare(BENCHMARK, [ours, theirs], [("y", "x")], BOOTSTRAP)
    assert [row["system"] for row in scores if row["track"] == "score"] == ["x", "y"]
    (pair,) = [row for row in compared if row["track"] == "score"]
    assert {key: pair[key] for key in ("system", "baseline", "level", "name", "metric", "n")} == {
        "system": "y", "baseline": "x", "level": "overall", "name": "overall", "metric": "score", "n": 90,
    }  # fmt: skip
    for rows, table in ((scores, contracts.SCORES), (compared, contracts.COMPARISONS)):
        assert set(rows[-1]) == {field.name for field in table.schema}


def test_the_title_names_the_tasks_of_another_metric() -> None:
    card = registry.load_benchmark("classification")
    accuracy, matthews = card.metric("accuracy"), card.metric("matthews")
    main = {"sst2": accuracy, "cola": matthews, "trec": accuracy}
    mean = mean_of_tasks(card, main)
    assert mean is not None and mean.name == "accuracy"
    assert mean_title(card, main, mean) == "mean of 3 tasks, CoLA by Matthews correlation"
    assert mean_title(card, main, Average("accuracy", ("sst2", "trec"))) == "mean of 2 tasks"
