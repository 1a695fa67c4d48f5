"""A benchmark whose tasks have different metrics: the paper's tables and the scores of the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nightjar import params as params_module
from nightjar.benchmarks import registry
from nightjar.benchmarks.aggregate import aggregate, compare, split_by_call
from nightjar.benchmarks.scores import InstanceKey, SystemScores
from nightjar.benchmarks.sections import Evaluated, ReportTable
from nightjar.statistics import Bootstrap
from stages.report.benchmark import call_use
from stages.report.benchmark import page as benchmark
from stages.report.leaderboard import column
from stages.report.read.benchmark_results import Results
from stages.report.read.systems import Systems
from stages.report.site import cell, row
from tests.stages.report.building import ROOT

BENCHMARK = registry.load_benchmark("tool_use")
MODELS = ("untuned", "toolformer")
PARAMS = params_module.load(ROOT / "params.yaml")
N = 24


def scores(system: str, accuracy: float, nll: float) -> SystemScores:
    """Questions of lama_trex, of which a share is right, and texts of wikitext, whose tokens have this loss each."""
    keys = [InstanceKey(task, "c", task, str(n)) for task in ("lama_trex", "wikitext") for n in range(N)]
    none = [np.nan] * N
    parts = {
        "accuracy": [float(n < accuracy * N) for n in range(N)] + none,
        "nll": none + [nll * (10 + n) for n in range(N)],
        "tokens": none + [10.0 + n for n in range(N)],
    }
    return SystemScores(system, keys, {name: np.array(values) for name, values in parts.items()})


@pytest.fixture(scope="module")
def shown() -> Mapping[str, Any]:
    made = [scores("untuned", 0.25, np.log(20)), scores("toolformer", 0.5, np.log(12))]
    bootstrap = Bootstrap(1, 200, 0.95)
    compared = compare(BENCHMARK, made, [("toolformer", "untuned")], bootstrap)
    roles = dict.fromkeys(MODELS, "baseline")
    called = {("lama_trex", str(n)): frozenset({"QA"}) for n in range(6)}
    one = benchmark.BenchmarkPage(
        Systems(BENCHMARK, {}, MODELS, roles),
        Results(BENCHMARK, aggregate(BENCHMARK, made, bootstrap), {}, compared, roles),
        compared,
        [],
        call_use.Answers(dict.fromkeys(MODELS, ()), dict.fromkeys(MODELS, 0), dict.fromkeys(MODELS, N)),
        [*split_by_call(BENCHMARK, made[0], {}), *split_by_call(BENCHMARK, made[1], called)],
        Evaluated(BENCHMARK, PARAMS, MODELS, [], made, [], {}, Path(), lambda path: None),
    )
    return benchmark.context(one, column(one), PARAMS)


def test_the_papers_tables(shown: Mapping[str, Any]) -> None:
    lama, texts, by_call = (it.table for it in shown["paper_tables"])
    numbers = [table.caption.partition(":")[0] for table in (lama, texts, by_call)]
    assert numbers == ["Table 3", "Table 8", "Table 9"]
    rows = texts_of(lama)
    assert ["Toolformer", "33.8", "11.5", "53.5"] in rows and ["toolformer", "–", "–", "50.0"] in rows
    assert [row for row in texts_of(texts) if row[0] in ("GPT-J", "toolformer")] == [
        ["GPT-J", "9.9", "10.6"],
        ["toolformer", "12.0", "–"],
    ]
    # The six answers with a call are right, as are six of the eighteen others.
    rows = [row[1:] for row in texts_of(by_call)]
    assert ["Toolformer, k = 10", "53.5", "54.0", "22.5", "98.1"] in rows
    assert ["toolformer", "50.0", "100.0", "33.3", "25.0"] in rows


def texts_of(table: ReportTable) -> list[list[str]]:
    return [[cell(it)["text"] for it in row(cells, table.columns).cells] for cells in table.rows]


def test_each_track_has_its_own_metric(shown: Mapping[str, Any]) -> None:
    trex, wikitext = shown["heat"].rows
    assert [row.cells[1] for row in (trex, wikitext)] == ["accuracy", "perplexity"]
    shares = [it.heat for it in wikitext.cells[3:]]
    assert shares[0] < shares[1], "toolformer has the lower perplexity, which is better"
    assert [it.bold for it in wikitext.cells[3:]] == [False, True]
    found = {(cells[2], cells[4]) for cells in texts_of(shown["differences"][0])}
    assert found == {("accuracy (%)", "+25.0"), ("perplexity", "−8.0")}
