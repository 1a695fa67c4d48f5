"""The plot of a study by its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from pipelines.study import plot as study_plot
from pipelines.study import results

METRICS = [{"name": "f1", "title": "F1", "unit": "%"}, {"name": "loss", "title": "Loss", "unit": ""}]


def scores(value: float, tracks: list[str]) -> list[dict[str, Any]]:
    ends = {"n": 9, "value": value, "low": value - 2, "high": value + 1}
    return [{"track": track, "metric": it["name"], **ends} for track in tracks for it in METRICS]


def made(tracks: list[str]) -> dict[str, Any]:
    points = [{"value": str(v), "scores": scores(30.0 + v, tracks)} for v in (4, 8, 16)]
    about: dict[str, Any] = {
        "study": "tasks",
        "recipe": "made",
        "benchmark": "made",
        "confidence": 0.95,
        "metrics": METRICS,
        "test_instances": {"n": 9},
    }
    return about | {"points": points}


def test_the_legend_covers_no_plot() -> None:
    figure = study_plot.figure(made(["default", "xlingual"]))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    for axes in figure.axes:
        assert axes.get_legend() is None
        assert not legend.get_window_extent().overlaps(axes.get_window_extent())
    assert [text.get_text() for text in legend.get_texts()] == ["default", "xlingual"]


@pytest.mark.parametrize("study", ["tasks", "encodings"])
def test_a_study_on_few_instances_shows_no_intervals(study: str, tmp_path: Path) -> None:
    result = made(["default"]) | {"study": study, "bootstrap_samples": 10, "commit": "0" * 40}
    result |= {"changed_files": []}
    for point in result["points"]:
        point |= {"axes": [point["value"]] * (1 + (study == "encodings")), "differences": [], "state": "done"}
        point["scores"] = [row | {"low": None, "high": None} for row in point["scores"]]
    text = results.markdown(result)
    assert "F1 in percent, with 95% intervals from 10 bootstrap samples. Differences are paired" in text
    assert "34.0 n<20" in text and "[" not in text
    study_plot.draw(result, tmp_path)
    assert (tmp_path / "plot.png").exists() == (study == "tasks")  # a matrix has no plot


def test_the_axis_has_the_unit_of_its_metric_and_room_for_negative_values() -> None:
    result = made(["default"])
    (axes,) = study_plot.figure(result).axes
    assert (axes.get_ylabel(), axes.get_ylim()[0]) == ("F1 (%)", 0)
    for point in result["points"]:
        point["scores"] = [point["scores"][1] | {"value": -3.0, "low": -4.0, "high": -2.0}]
    (axes,) = study_plot.figure(result).axes
    assert axes.get_ylabel() == "Loss" and axes.get_ylim()[0] < -4


def test_a_track_shows_the_metrics_that_it_has() -> None:
    result = made(["default", "other"])
    for point in result["points"]:
        point["scores"] = [
            row for row in point["scores"] if row["track"] != "other" or row["metric"] == "loss"
        ]
    assert results.metrics(result, "default") == {"f1": "F1", "loss": "Loss"}
    assert results.metrics(result, "other") == {"loss": "Loss"}
    (axes,) = study_plot.figure(result).axes
    assert axes.get_ylabel() == "main metric of each track"


def of_tasks(kind: str = "input_length") -> dict[str, Any]:
    """A study whose ten tracks have three main metrics, with an average and a published system."""
    names = ["f1", "rouge", "accuracy"]
    result = made(["default"])
    result |= {
        "study": kind,
        "average": "mean",
        "metrics": [{"name": it, "title": it, "unit": "%"} for it in names],
    }
    result["metrics"].append({"name": "mean", "title": "mean of all", "unit": "%"})
    result["published"] = [
        {
            "system": "Large",
            "source": "a paper",
            "points": {"512": {"mean": 17.5}, "8192": {"mean": 29.0, "t0": 9.0}},
        }
    ]
    for point, length in zip(result["points"], (512, 1024, 2048), strict=True):
        point["value"] = str(length)
        tracks = [(f"t{n}", names[n % 3], float(n)) for n in range(10)] + [("mean", "mean", 4.5)]
        point["scores"] = [
            {"track": t, "metric": m, "n": 30, "value": v + length / 1024, "low": v, "high": v + 3}
            for t, m, v in tracks
        ]
        point["scores"].append(point["scores"][0] | {"metric": "mean", "value": 99.0})
    return result


def test_tracks_share_one_plot_each_by_its_main_metric() -> None:
    figure = study_plot.figure(of_tasks())
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert figure.get_suptitle() == "made, 9 test instances; 95% intervals"
    assert axes.get_ylabel() == "main metric of each track (%)"
    assert axes.get_xlabel() == "most tokens of a prompt"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["512", "1024", "2048", "8192"]
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert {f"t{n}" for n in range(10)} | {"mean", "Large, published"} == set(labels)
    shown = legend.get_window_extent()
    assert shown.x0 >= 0 and shown.x1 <= figure.bbox.x1
    lines = {tuple(line.get_xydata().flatten()): line for line in axes.lines}
    average = lines[512.0, 5.0, 1024.0, 5.5, 2048.0, 6.5]
    assert average.get_color() == study_plot.OF_AVERAGE
    # Of the published system the average alone.
    published = lines[512.0, 17.5, 8192.0, 29.0]
    assert published.get_marker() == "x"
    colours = {line.get_color() for line in axes.lines}
    assert len(colours) == 11
    assert not any(99.0 in points for points in lines)


def test_published_values_are_beside_those_of_a_study() -> None:
    result = of_tasks() | {"bootstrap_samples": 10, "commit": "0" * 40, "changed_files": []}
    for point in result["points"]:
        point |= {"axes": [point["value"]], "differences": [], "state": "done"}
    result["tracks"] = {"t1": "English track"}
    text = results.markdown(result)
    mean = text.partition("## Mean")[2].partition("## ")[0]
    assert "- Published for Large (a paper): 512: 17.5, 8192: 29.0" in mean
    assert "- Published for Large (a paper): 8192: 9.0" in text.partition("## T0")[2].partition("## ")[0]
    assert "Published" not in text.partition("## English track")[2].partition("## ")[0]


def test_the_published_curves_of_the_cards_are_shown() -> None:
    """Toolformer's table 9, and of PGRA's studies the averages, which are no track of the benchmark."""
    for benchmark, study, told in (
        (
            "tool_use",
            "calls",
            "Toolformer (Schick et al. 2023, table 9): 0: 18.9, 1: 19.3, 3: 26.3, 10: 26.3",
        ),
        ("classification", "candidates", "eight tasks: 16: 81.9, 50: 82.2, 100: 82.2, 150: 82.6"),
        ("classification", "passages", "eight tasks: 4: 82.3, 8: 82.3, 16: 82.6, 24: 82.6"),
        ("classification", "reranker", "OPT-350m: 81.8, OPT-1.3b: 82.1"),
        ("classification", "retriever", "bm25: 82.1, dense: 82.6"),
    ):
        card = registry.card(benchmark)
        result = made(["web_questions"]) | {"bootstrap_samples": 10, "commit": "0" * 40, "changed_files": []}
        result |= {"study": study, "tracks": dict(card.tracks)}
        for point in result["points"]:
            point |= {"axes": [point["value"]], "differences": [], "state": "done", "calls": []}
        curves = [one for one in card.curves if one.study == study]
        result["published"] = [vars(one) for one in curves]
        assert told in results.markdown(result) and "lama" not in results.markdown(result)


def test_published_models_have_no_place_on_the_axis() -> None:
    result = of_tasks("models")
    for point in result["points"]:
        point["parameters"] = 1000
    (axes,) = study_plot.figure(result).axes
    assert all(line.get_marker() != "x" for line in axes.lines)
