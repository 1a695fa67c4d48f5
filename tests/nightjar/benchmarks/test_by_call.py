"""Scores by call: the parts of a track are those of its answers, and the shares are counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import called, split_by_call
from nightjar.benchmarks.scores import InstanceKey, SystemScores

BENCHMARK = registry.load_benchmark("tool_use")


def scores(values: dict[str, list[float]]) -> SystemScores:
    """The accuracy of answers, by task."""
    keys = [
        InstanceKey(task, "c", task, str(n)) for task, listed in values.items() for n in range(len(listed))
    ]
    accuracy = np.array([value for listed in values.values() for value in listed])
    return SystemScores("toolformer", keys, {"accuracy": accuracy})


def test_by_hand() -> None:
    rows = [
        {"task_id": "svamp", "id": "0", "calls": [{"tool": "Calculator"}, {"tool": "Calculator"}]},
        {"task_id": "svamp", "id": "2", "calls": [{"tool": "QA"}, {"tool": "Calculator"}]},
        {"task_id": "svamp", "id": "1", "calls": []},
    ]
    made = scores({"svamp": [1, 0, 0, 1], "dateset": [0, 1]})
    dateset, svamp = split_by_call(BENCHMARK, made, called(rows))
    assert (svamp.everything, svamp.with_call, svamp.without_call) == (50, 50, 50)
    assert (svamp.n, svamp.called, svamp.share) == (4, 2, 50)
    assert svamp.tools == {"Calculator": 2, "QA": 1}
    assert (dateset.everything, dateset.with_call, dateset.without_call, dateset.share) == (50, None, 50, 0)


def test_texts_are_left_out() -> None:
    keys = [InstanceKey(task, "c", task, "0") for task in ("svamp", "wikitext")]
    parts = {"accuracy": [1, math.nan], "nll": [math.nan, 5], "tokens": [math.nan, 2]}
    made = SystemScores("s", keys, {name: np.array(values, dtype=float) for name, values in parts.items()})
    (only,) = split_by_call(BENCHMARK, made, {("wikitext", "0"): frozenset({"QA"})})
    assert (only.track, only.n, only.called) == ("svamp", 1, 0)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.booleans()), min_size=1, max_size=40))
def test_the_whole_is_the_weighted_mean_of_its_parts(answers: list[tuple[float, bool]]) -> None:
    tools = {("svamp", str(n)): frozenset({"QA"}) for n, (_, calls) in enumerate(answers) if calls}
    (line,) = split_by_call(BENCHMARK, scores({"svamp": [value for value, _ in answers]}), tools)
    parts = (line.with_call or 0.0) * line.called + (line.without_call or 0.0) * (line.n - line.called)
    assert parts / line.n == pytest.approx(line.everything, abs=1e-3)
    assert (line.with_call is None) == (line.called == 0)
