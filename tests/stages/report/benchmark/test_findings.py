"""Sentences on results that are the opposite of a paper's finding, and on an upper bound that others exceed."""

from __future__ import annotations

import numpy as np
import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import aggregate, compare
from nightjar.benchmarks.scores import InstanceKey, SystemScores
from nightjar.benchmarks.sections import Interval
from nightjar.statistics import Bootstrap
from stages.report.benchmark.findings import exceeded_bounds, opposites
from stages.report.read.benchmark_results import Results, Row

BENCHMARK = registry.load_benchmark("tool_use")
N = 24


def results(plain: float, disabled: float) -> Results:
    """Two systems with these perplexities of held-out texts of ten tokens each."""
    keys = [InstanceKey("held_out", "c", "held_out", str(n)) for n in range(N)]
    made = [
        SystemScores(system, keys, {"nll": np.full(N, 10 * np.log(value)), "tokens": np.full(N, 10.0)})
        for system, value in (("plain", plain), ("toolformer_disabled", disabled))
    ]
    bootstrap = Bootstrap(1, 200, 0.95)
    compared = compare(BENCHMARK, made, [("toolformer_disabled", "plain")], bootstrap)
    return Results(BENCHMARK, aggregate(BENCHMARK, made, bootstrap), {}, compared)


def test_an_opposite_result_has_the_numbers_of_both_and_the_reason() -> None:
    (text,) = opposites(results(15.0, 18.0), None)
    assert "toolformer_disabled has 18.0 and is worse than plain with 15.0 (p " in text
    assert "Schick et al. 2023, table 8" in text and text.endswith("in all).")


@pytest.mark.parametrize("disabled", [15.04, 14.0])
def test_a_result_like_the_papers_has_none(disabled: float) -> None:
    assert opposites(results(15.0, disabled), None) == []


def test_a_mean_of_tasks() -> None:
    card = registry.load_benchmark("classification")
    lanes = {name: Interval(value, None, None) for name, value in (("reader", 38.9), ("pgra", 35.2))}
    row = Row("overall", "overall", card.metric("accuracy"), 54, lanes)
    (text,) = opposites(Results(card, [], {}), row)
    assert text.startswith(
        "The mean of the tasks: pgra has 35.2 and is worse than reader with 38.9; Guo et al. 2023"
    )
    assert opposites(Results(card, [], {}), None) == []


def test_an_upper_bound_below_a_system_names_those_that_compete() -> None:
    values = {"tk_instruct": 59.0, "combined": 60.5, "untuned": 43.8, "people": 90.0}
    roles = dict.fromkeys(values, "treatment") | {
        "supervised": "bound",
        "all_data": "bound",
        "people": "human",
    }
    card = registry.load_benchmark("supernatinst")
    shared = {"track": "default", "level": "overall", "name": "overall", "metric": "rougeL", "n": 144}

    def track(bound: str, score: float) -> Results:
        scored = values | {bound: score}
        rows = [
            {**shared, "system": name, "value": it, "low": None, "high": None} for name, it in scored.items()
        ]
        return Results(card, rows, {}, (), roles)

    (text,) = exceeded_bounds(track("all_data", 55.0), None)
    assert text.startswith(
        "ROUGE-L (%), English track: the upper bound all_data has 55.0 and is worse than combined with 60.5 "
        "and tk_instruct with 59.0. "
    )
    assert exceeded_bounds(track("all_data", 60.5), None) == []
    # The paper has a finding on this one, so that the page has its sentence already.
    supervised = track("supervised", 55.0)
    assert len(opposites(supervised, None)) == 1 and exceeded_bounds(supervised, None) == []
