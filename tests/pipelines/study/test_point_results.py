"""The table and the plot of a study by their parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from nightjar.benchmarks import registry
from pipelines.study import point_results
from pipelines.study.point_results import draw

POINTS = {4: 30.0, 0: 10.0, 16: 44.04}


def made(cells: dict[str, list[str]], **more: Any) -> dict[str, Any]:
    """A study of three values whose tracks have these metrics; all differences are from the first value."""

    def row(track: str, metric: str, value: float) -> dict[str, Any]:
        other = {
            "difference": value - 30,
            "difference_low": value - 31,
            "difference_high": value - 28,
            "p": 0.5,
        }
        other = other if value != 30 else dict.fromkeys(other)
        of = {"track": track, "metric": metric, "n": 30, "value": value, "low": value - 2, "high": value + 1}
        return of | other

    points = [
        {
            "value": str(at),
            "values": {"calls": at},
            "experiment": f"calls-{at}",
            "state": "done",
            "error": None,
            "scores": [row(track, metric, value) for track, names in cells.items() for metric in names],
        }
        for at, value in POINTS.items()
    ]
    about = {
        "study": "calls",
        "axes": [{"name": "calls", "key": "predict.made.call_top_k", "numeric": True}],
        "recipe": "made",
        "benchmark": "made",
        "commit": "0" * 40,
        "changed_files": [],
        "metrics": {"f1": "F1 (%)", "loss": "Loss"},
        "tracks": {"default": "English track"},
        "confidence": 0.95,
        "bootstrap_samples": 10,
        "published": [],
        "points": points,
    }
    return about | more


def test_a_table_has_values_intervals_and_differences() -> None:
    result = made({"other": ["loss"], "default": ["f1", "loss"]})
    assert point_results.by_track(result) == {"default": ["f1", "loss"], "other": ["loss"]}
    rows = point_results.table(result, "default", ["f1"])
    assert rows[0] == {"calls": "4", "n": "30", "F1 (%)": "30.0 [28.0, 31.0]", "F1 (%), difference": "–"}
    assert rows[1]["F1 (%), difference"] == "-20.0 [-21.0, -18.0], p 0.5000"
    assert rows[2]["F1 (%)"] == "44.0 [42.0, 45.0]"


def test_few_instances_have_no_interval_and_a_failed_point_has_a_row() -> None:
    result = made({"default": ["f1"]})
    few = {"n": 9, "low": None, "high": None}
    result["points"][0]["scores"] = [row | few for row in result["points"][0]["scores"]]
    result["points"][2] |= {"scores": [], "state": "failed", "error": "train: it broke"}
    rows = [list(row.values()) for row in point_results.table(result, "default", ["f1"])]
    assert rows[0] == ["4", "9", "30.0 n<20", "–"] and rows[2] == ["16", "failed", "–", "–"]
    lost = point_results.flat(result)[-1]
    assert (lost["calls"], lost["state"], lost["metric"], lost["p"]) == (16, "failed", None, None)


@pytest.mark.parametrize(
    ("benchmark", "study", "told"),
    [
        (
            "tool_use",
            "calls",
            "Toolformer (Schick et al. 2023, table 9), WebQuestions: 0: 18.9, 1: 19.3, 3: 26.3",
        ),
        (
            "classification",
            "candidates",
            "average of the eight tasks: 16: 81.9, 50: 82.2, 100: 82.2, 150: 82.6",
        ),
        ("classification", "passages", "average of the eight tasks: 4: 82.3, 8: 82.3, 16: 82.6, 24: 82.6"),
        ("classification", "reranker", "OPT-350m: 81.8, OPT-1.3b: 82.1"),
        ("classification", "retriever", "bm25: 82.1, dense: 82.6"),
        ("zeroscrolls", "input_length", "mean of the ten tasks: 512: 17.1"),
    ],
)
def test_the_values_of_papers_are_shown(benchmark: str, study: str, told: str) -> None:
    card = registry.load_benchmark(benchmark)
    curves = [vars(one) for one in card.papers.curves if one.study == study]
    lines = point_results.published(made({}, published=curves, tracks=dict(card.tracks)))
    assert any(told in line for line in lines)


def test_a_curve_has_its_points_in_order_with_their_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: drawn.append(self))
    draw(made({"default": ["f1", "loss"], "other": ["loss"]}), tmp_path)
    drawn[0].draw_without_rendering()
    (axes,) = drawn[0].axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "4", "16"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predict.made.call_top_k", "main metric of each track")
    lines, _, (bars,) = axes.containers[0]
    assert lines.get_xydata().tolist() == [[0, 10], [4, 30], [16, 44.04]]
    assert bars.get_segments()[0].tolist() == [[0, 8], [0, 11]]
    (legend,) = drawn[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["English track", "other"]
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())


def test_names_and_several_settings_have_no_curve(tmp_path: Path) -> None:
    (tmp_path / "plot.png").write_text("of an earlier run")
    axis = {"name": "calls", "key": "calls", "numeric": True}
    for axes in ([axis | {"numeric": False}], [axis, axis], []):
        draw(made({"default": ["f1"]}, axes=axes), tmp_path)
    assert not list(tmp_path.iterdir())
