"""Means against plain Python, intervals against the exact distribution of the bootstrap."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.aggregate import (
    aggregate,
    by_track,
    category_name,
    compare,
    difference,
    group,
    improvements,
)
from nightjar.benchmarks.registry import load_benchmark
from nightjar.benchmarks.scores import InstanceKey, SystemScores, from_rows
from nightjar.core import contracts, tables
from nightjar.core.errors import NightjarError
from nightjar.statistics import Bootstrap, matthews
from nightjar.statistics.metric import Metric
from tests.made_benchmark import changed

BENCHMARK = load_benchmark("supernatinst")
BOOTSTRAP = Bootstrap(seed=42, samples=1000, confidence=0.95)


def row(
    system: str, number: int, score: float, category: str = "Word Analogy", task: str = "t1"
) -> dict[str, Any]:
    return {
        "system": system,
        "track": "default",
        "category": category,
        "task_id": task,
        "id": f"{task}-{number}",
        "scores": {"exact_match": float(score == 1), "rouge1": score, "rougeL": score},
    }


def scored(rows: list[dict[str, Any]]) -> list[SystemScores]:
    return from_rows(
        {**one, "part": part, "unscaled": value} for one in rows for part, value in one["scores"].items()
    )


def test_the_mean_is_over_instances_not_tasks() -> None:
    rows = [row("a", number, 1.0) for number in range(3)] + [row("a", 0, 0.0, task="t2")]
    table = aggregate(BENCHMARK, scored(rows), BOOTSTRAP)
    value = {(line["level"], line["name"], line["metric"]): (line["n"], line["value"]) for line in table}
    assert value["overall", "overall", "rougeL"] == (4, 75.0)
    assert value["category", "word_analogy", "exact_match"] == (4, 75.0)
    assert value["task", "t2", "rouge1"] == (1, 0.0)
    tables.check(contracts.SCORES, tables.pa.Table.from_pylist(table, schema=contracts.SCORES.schema), "here")


def test_intervals_depend_on_the_cell_and_the_seed_alone() -> None:
    rng = random.Random(3)
    rows = [row(system, number, rng.random(), task=task)
            for system in ("a", "b") for task in ("t1", "t2", "t3") for number in range(20)]  # fmt: skip
    plain = aggregate(BENCHMARK, scored(rows), BOOTSTRAP)
    turned = aggregate(BENCHMARK, scored(rows[::-1]), BOOTSTRAP)
    key = ("system", "level", "name", "metric")
    by_key = {tuple(line[part] for part in key): line for line in turned}
    for line in plain:
        other = by_key[tuple(line[part] for part in key)]
        assert line["value"] == pytest.approx(other["value"], abs=1e-4)
        assert line["low"] <= line["value"] <= line["high"]
    assert aggregate(BENCHMARK, scored(rows[:60]), BOOTSTRAP) == plain[: len(plain) // 2]
    different = aggregate(BENCHMARK, scored(rows), Bootstrap(43, 1000, 0.95))
    assert [line["low"] for line in different] != [line["low"] for line in plain]


def test_difference_is_paired() -> None:
    """Scores that differ by a constant: unpaired intervals would be wide, the paired one has no width."""
    rng = random.Random(5)
    base = [rng.random() / 2 for _ in range(40)]
    rows = [row("old", number, score) for number, score in enumerate(base)]
    rows += [row("new", number, score + 0.25) for number, score in reversed(list(enumerate(base)))]
    line = next(
        line
        for line in compare(BENCHMARK, scored(rows), [("new", "old")], BOOTSTRAP)
        if line["metric"] == "rougeL"
    )
    assert (line["value"], line["low"], line["high"], line["significant"], line["n"]) == (
        25.0,
        25.0,
        25.0,
        True,
        40,
    )
    same = compare(BENCHMARK, scored(rows), [("old", "old")], BOOTSTRAP)
    assert not any(line["significant"] for line in same)
    with pytest.raises(NightjarError, match="same instances"):
        compare(BENCHMARK, scored(rows[1:]), [("new", "old")], BOOTSTRAP)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=60))
def test_moved_agrees_with_p(values: list[float]) -> None:
    ours = np.array(values)[:, None]
    line = difference(BENCHMARK.metrics[0], ours, np.zeros_like(ours), Bootstrap(1, 100, 0.9))
    assert (line["p"] is None) == (len(values) < 20)
    assert line["significant"] == (line["p"] is not None and line["p"] <= 0.1)
    assert (line["low"] is None) == (line["high"] is None) == (len(values) < 20)


def test_a_metric_of_several_parts() -> None:
    """Matthews correlation of labels: the value is that of all instances, the difference that of two values."""
    rng = np.random.default_rng(1)
    gold = rng.integers(0, 2, 60).astype(float)
    made = {
        name: np.where(rng.random(60) < share, gold, 1 - gold) for name, share in (("a", 0.9), ("b", 0.6))
    }
    metric = Metric("mcc", "Matthews correlation", ("predicted", "gold"), matthews, (-100, 100))
    own = changed(
        BENCHMARK,
        name="made",
        metrics=(metric,),
        levels=("overall",),
        main_metric=lambda category="": metric,
    )
    keys = [InstanceKey("default", "c", "t", str(number)) for number in range(60)]
    scores = [SystemScores(name, keys, {"predicted": values, "gold": gold}) for name, values in made.items()]
    expected = {name: round(100 * float(np.corrcoef(values, gold)[0, 1]), 4) for name, values in made.items()}
    lines = aggregate(own, scores, BOOTSTRAP)
    assert {line["system"]: line["value"] for line in lines} == pytest.approx(expected, abs=1e-4)
    assert all(line["low"] < line["value"] < line["high"] for line in lines)
    (line,) = compare(own, scores, [("a", "b")], BOOTSTRAP)
    assert line["value"] == pytest.approx(expected["a"] - expected["b"], abs=1e-3)
    assert line["low"] < line["value"] < line["high"] and line["better"] is None and line["p"] < 0.05


def test_improvements_are_by_the_first_metric_that_a_task_has() -> None:
    """One task by the correlation of two parts, the other by a mean that is better when it is lower."""
    rng = np.random.default_rng(2)
    metrics = (
        Metric("mcc", "Matthews correlation", ("predicted", "gold"), matthews, (-100, 100)),
        Metric("errors", "errors", scale=1.0, range=(0, 9), higher_is_better=False),
    )
    own = changed(
        BENCHMARK,
        name="made",
        metrics=metrics,
        levels=("overall",),
        main_metric=lambda category="": metrics[0],
    )
    keys = [InstanceKey(task, "c", task, str(number)) for task in ("labels", "sums") for number in range(40)]
    none, gold = np.full(40, np.nan), rng.integers(0, 2, 40).astype(float)
    scores = [
        SystemScores(
            name,
            keys,
            {
                "predicted": np.concatenate([np.where(rng.random(40) < share, gold, 1 - gold), none]),
                "gold": np.concatenate([gold, none]),
                "errors": np.concatenate([none, np.full(40, errors)]),
            },
        )
        for name, share, errors in (("good", 0.9, 1.0), ("better", 0.7, 3.0), ("worse", 0.4, 5.0))
    ]
    found = {row["task_id"]: row for row in improvements(own, scores, ["worse", "better"], BOOTSTRAP)}
    assert found["sums"]["metric"] == "errors" and found["sums"]["heuristic"] == "better"
    assert (found["sums"]["value"], found["sums"]["n"]) == (-2.0, 40)
    row = found["labels"]
    numbers = [100 * np.corrcoef(one.parts["predicted"][:40], gold)[0, 1] for one in scores[:2]]
    assert (row["metric"], row["heuristic"]) == ("mcc", "better")
    assert row["value"] == pytest.approx(numbers[0] - numbers[1], abs=1e-3)
    assert row["low"] < row["value"] < row["high"]


def test_category_name() -> None:
    assert category_name(" Textual  Entailment") == "textual_entailment"


def test_an_instance_that_one_system_lacks_is_compared_for_neither() -> None:
    """A text without a likelihood: the pairs are of the others, whatever the order of the instances."""
    tool_use = load_benchmark("tool_use")
    keys = [InstanceKey("wikitext", "c", "wikitext", str(number)) for number in range(4)]
    ours = {"nll": np.array([1.0, np.nan, 3, 4]), "tokens": np.array([2.0, np.nan, 2, 2])}
    theirs = {"nll": np.array([8.0, 6, 5, np.nan]), "tokens": np.array([2.0, 2, 2, np.nan])}
    scores = [
        SystemScores("a", keys, ours),
        SystemScores("b", keys[::-1], {k: v[::-1] for k, v in theirs.items()}),
    ]
    (line,) = compare(tool_use, scores, [("a", "b")], BOOTSTRAP)
    assert (line["metric"], line["n"]) == ("perplexity", 2)
    assert line["value"] == pytest.approx(np.exp(4 / 4) - np.exp(13 / 4), abs=1e-3)


@given(
    st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from(["B a", "a"]), st.sampled_from("tu"))),
    st.randoms(),
)
def test_group_and_by_track_give_the_places_in_their_order(
    names: list[tuple[str, str, str]], source: random.Random
) -> None:
    keys = [InstanceKey(*one, str(number)) for number, one in enumerate(names)]
    places = [place for place in range(len(keys)) if source.random() < 0.7]
    cells = {cell: members.tolist() for cell, members in group(keys, places, ("overall", "task")).items()}
    assert cells.pop(("overall", "overall")) == places
    assert list(cells) == sorted({("task", keys[place].task_id) for place in places})
    for (_, task), members in cells.items():
        assert members == [place for place in places if keys[place].task_id == task]
    assert {category for _, category in group(keys, places, ("category",))} == {
        category_name(keys[place].category) for place in places
    }
    tracks = by_track(SystemScores("s", keys, {}))
    assert list(tracks) == sorted({key.track for key in keys})
    for track, found in tracks.items():
        assert found.tolist() == [place for place, key in enumerate(keys) if key.track == track]
