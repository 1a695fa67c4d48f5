"""The scores of a run, from tables written as a stage writes them, and how they changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nightjar.benchmarks.score_table import ScoreTable
from nightjar.core import contracts, tables
from pipelines.graph import graph
from pipelines.history import score_tables
from tests.questions import row_of


def row(system: str, value: float, level: str = "overall") -> dict[str, Any]:
    ends = {"value": value, "low": value - 5, "high": value + 5}
    names = {"benchmark": "made", "system": system, "track": "default", "metric": "rougeL"}
    return row_of(contracts.SCORES, level=level, name=level, n=40, **names, **ends)


def test_scores_are_those_of_whole_benchmarks_in_any_output(tmp_path: Path) -> None:
    with_scores = graph.Stage("evaluate", "x", "", (), ("out", "other.txt"), (), {}, (), ())
    without = graph.Stage("train", "x", "", (), ("model",), (), {}, (), ())
    with tables.ArtifactWriter(tmp_path / "out") as writer:
        writer.write(contracts.SCORES, [row("a", 40.0), row("a", 10.0, "category"), row("b", 50.0)])
    table = score_tables.read_scores(tmp_path, [with_scores, without])
    assert [(it["system"], it["value"]) for it in table.rows] == [("a", 40.0), ("b", 50.0)]
    assert score_tables.read_scores(tmp_path, [without]).rows == []


def test_a_page_has_a_table_a_benchmark_with_intervals_and_changes() -> None:
    rows = [row(system, value) for system, value in (("a", 40.0), ("b", 50.0))]
    rows.append(rows[0] | {"metric": "exact_match"})
    rows.append(row("a", 9.0) | {"benchmark": "other", "n": 8, "low": None, "high": None})
    assert score_tables.page(ScoreTable(rows), [row("a", 41.5), row("c", 1.0)]) == [
        "### made",
        "",
        "| track | metric | a | b |",
        "|---|---|---|---|",
        "| default | rougeL | 40.0 [35.0, 45.0] n 40, -1.5 | 50.0 [45.0, 55.0] n 40 |",
        "",
        "### other",
        "",
        "| track | metric | a |",
        "|---|---|---|",
        "| default | rougeL | 9.0 n<20 |",
        "",
    ]


def test_a_metric_from_0_to_1_has_three_decimals() -> None:
    of = {"benchmark": "protoqa", "metric": "wordnet/max_incorrect@3", "low": 0.0, "high": 0.0263}
    now, before = (row("a", value) | of for value in (0.0104, 0.0214))
    assert "0.010 [0.000, 0.026] n 40, -0.011" in score_tables.page(ScoreTable([now]), [before])[-2]
