"""The history of scores, from tables written as a stage writes them and from a broken file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nightjar.core import contracts, paths, tables
from pipelines.graph import graph
from pipelines.history import scores
from tests.questions import row_of


def row(system: str, value: float, level: str = "overall") -> dict[str, Any]:
    ends = {"value": value, "low": value - 5, "high": value + 5}
    names = {"benchmark": "made", "system": system, "track": "default", "metric": "rougeL"}
    return row_of(contracts.SCORES, level=level, name=level, n=40, **names, **ends)


def kept(value: float) -> list[dict[str, Any]]:
    return [{name: row("model", value)[name] for name in scores.COLUMNS}]


def test_scores_are_those_of_whole_benchmarks_in_any_output(tmp_path: Path) -> None:
    with_scores = graph.Stage("evaluate", "x", "", (), ("out", "other.txt"), (), {}, (), ())
    without = graph.Stage("train", "x", "", (), ("model",), (), {}, (), ())
    with tables.ArtifactWriter(tmp_path / "out") as writer:
        writer.write(contracts.SCORES, [row("a", 40.0), row("a", 10.0, "category"), row("b", 50.0)])
    found = scores.present(tmp_path, [with_scores, without])
    assert [(it["system"], it["value"]) for it in found] == [("a", 40.0), ("b", 50.0)]
    assert scores.present(tmp_path, [without]) == []


def earlier(root: Path, kind: str = "rebuild") -> list[float]:
    return list(scores.before(root, kind).values())


def test_the_value_before_is_that_of_the_last_run_of_a_kind_and_broken_lines_are_none(tmp_path: Path) -> None:
    scores.keep(tmp_path, [])
    assert earlier(tmp_path) == []
    scores.keep(tmp_path, kept(40.0))
    scores.keep(tmp_path, kept(40.0))
    scores.keep(tmp_path, kept(30.0), "nightly")
    with (tmp_path / paths.RUN_SCORES).open("a") as file:
        file.write('{"ended": 1}\nnot json\n{"ended": "x", "kind": "", "commit": "", "rows": [{}]}\n')
    assert earlier(tmp_path) == [40.0] and earlier(tmp_path, "nightly") == [30.0]
    # A rebuild of another system alone leaves the value of this one.
    scores.keep(tmp_path, [{**kept(44.0)[0], "system": "other"}])
    assert sorted(earlier(tmp_path)) == [40.0, 44.0]


def test_a_page_has_a_table_a_benchmark_with_intervals_and_changes() -> None:
    rows = [row(system, value) for system, value in (("a", 40.0), ("b", 50.0))]
    rows.append(rows[0] | {"metric": "exact_match"})
    rows.append(row("a", 9.0) | {"benchmark": "other", "n": 8, "low": None, "high": None})
    assert scores.page(rows, {("made", "default", "a", "rougeL"): 41.5}) == [
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


def test_a_night_is_kept_even_with_the_scores_of_the_last(tmp_path: Path) -> None:
    night = scores.overall([row("model", 40.0), row("model", 10.0, "category")])
    for kind in ("rebuild", "nightly", "nightly", "rebuild"):
        scores.keep(tmp_path, night, kind)
    scores.keep(tmp_path, [], "nightly")
    lines = (tmp_path / paths.RUN_SCORES).read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["rebuild", "nightly", "nightly"]
    assert all(json.loads(line)["rows"] == kept(40.0) for line in lines)
