"""The history of scores, from tables written as a stage writes them and from a broken file."""

from __future__ import annotations

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


def test_each_rebuild_with_other_scores_is_a_column_and_broken_lines_are_none(tmp_path: Path) -> None:
    scores.keep(tmp_path, [])
    assert scores.history(tmp_path) == []
    scores.keep(tmp_path, kept(40.0))
    scores.keep(tmp_path, kept(40.0))
    with (tmp_path / paths.RUN_SCORES).open("a") as file:
        file.write('{"ended": 1}\nnot json\n{"ended": "x", "kind": "", "commit": "", "rows": [{}]}\n')
    scores.keep(tmp_path, kept(44.0))
    runs = scores.history(tmp_path)
    assert [run.rows[0]["value"] for run in runs] == [40.0, 44.0]
    (told,) = scores.table(runs)
    *names, latest, before = told.values()
    assert names == ["made", "default", "model", "rougeL"]
    assert (latest, before) == ("44.0 [39.0, 49.0] n 40", "40.0 [35.0, 45.0] n 40")


def test_a_score_of_few_instances_has_no_interval(tmp_path: Path) -> None:
    few = [{**kept(40.0)[0], "n": 8, "low": None, "high": None}]
    scores.keep(tmp_path, few)
    runs = scores.history(tmp_path)
    assert runs[0].rows == few
    assert list(scores.table(runs)[0].values())[-1] == "40.0 n<20"


def test_two_runs_of_one_minute_are_two_columns() -> None:
    runs = [
        scores.Run(ended=float(second), kind="rebuild", commit="abc", rows=kept(float(second)))
        for second in range(3)
    ]
    (told,) = scores.table(runs)
    assert len(told) == len(scores.NAMES) + 3


def test_only_the_last_runs_are_shown(tmp_path: Path) -> None:
    for value in range(scores.SHOWN + 3):
        scores.keep(tmp_path, kept(float(value)))
    assert [run.rows[0]["value"] for run in scores.history(tmp_path)] == list(range(3, scores.SHOWN + 3))


def test_a_night_is_a_column_even_with_the_scores_of_the_last(tmp_path: Path) -> None:
    night = scores.overall([row("model", 40.0), row("model", 10.0, "category")])
    for kind in ("rebuild", "nightly", "nightly", "rebuild"):
        scores.keep(tmp_path, night, kind)
    scores.keep(tmp_path, [], "nightly")
    found = scores.history(tmp_path)
    assert [run.kind for run in found] == ["rebuild", "nightly", "nightly"]
    assert all(run.rows == kept(40.0) for run in found)
