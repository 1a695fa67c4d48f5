"""The plot of a study by its parts, and the scores of the untuned model in it."""

from __future__ import annotations

from typing import Any

import pytest

from nightjar.core import contracts
from nightjar.core.tables import ArtifactWriter
from pipelines import study_plot
from pipelines import study_results as results
from tests.pipelines.conftest import Repo
from tests.pipelines.test_trace import prediction

UNTUNED = {"default": 33.6, "xlingual": 25.0}


def scores(value: float, tracks: list[str]) -> list[dict[str, Any]]:
    ends = {"n": 9, "value": value, "low": value - 2, "high": value + 1}
    return [{"track": track, "metric": metric, **ends} for track in tracks for metric in results.METRICS]


def made(tracks: list[str], untuned: bool) -> dict[str, Any]:
    points = [{"value": str(v), "scores": scores(30.0 + v, tracks)} for v in (4, 8, 16)]
    base = [row for track in tracks for row in scores(UNTUNED[track], [track])] if untuned else []
    return {"study": "tasks", "recipe": "made", "confidence": 0.95, "points": points, "untuned": base}


@pytest.mark.parametrize("tracks", [["default"], ["default", "xlingual"]])
def test_the_legend_covers_no_plot_and_the_untuned_model_has_a_line_and_a_band(tracks: list[str]) -> None:
    figure = study_plot.figure(made(tracks, untuned=True))
    figure.canvas.draw()
    (legend,) = figure.legends
    for axes in figure.axes:
        assert axes.get_legend() is None
        assert not legend.get_window_extent().overlaps(axes.get_window_extent())
        flat = {line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"}
        assert flat == {UNTUNED[track] for track in tracks}
        bands = {round(patch.get_height(), 6) for patch in axes.patches}
        assert bands == {3.0}
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(labels) == 2 * len(tracks) and any("untuned model" in label for label in labels)


@pytest.mark.parametrize("study", ["tasks", "encodings"])
def test_a_study_on_few_instances_shows_no_intervals(study: str) -> None:
    result = made(["default"], untuned=True) | {"study": study, "bootstrap_samples": 10, "commit": "0" * 40}
    result |= {"changed_files": []}
    for point in result["points"]:
        point |= {"axes": [point["value"]] * (1 + (study == "encodings")), "differences": [], "state": "done"}
        point["scores"] = [row | {"low": None, "high": None} for row in point["scores"]]
    result["untuned"] = [row | {"low": None, "high": None} for row in result["untuned"]]
    text = results.markdown(result)
    assert "34.0 (n = 9, too few)" in text and "33.6 (n = 9, too few)" in text and "[" not in text
    study_plot.figure(result).canvas.draw()


def test_without_the_untuned_model_one_track_needs_no_legend() -> None:
    figure = study_plot.figure(made(["default"], untuned=False))
    assert not figure.legends and not figure.axes[0].patches


DVC = """
stages:
  predict:
    foreach: [supernatinst-untuned]
    do:
      cmd: "true"
      deps: [setting.txt, data/split]
      outs: ["data/predict/${item}"]
"""
ROW = {"track": "default", "category": "c", "dataset": "d", "file": "f", "task_id": "t", "index": 0}


def test_the_untuned_model_counts_for_the_same_instances_only(repo: Repo) -> None:
    rows = [{**ROW, "id": str(n), "input": "question", "outputs": ["yes"]} for n in range(2)]
    with ArtifactWriter(repo.root / results.SPLIT) as writer:
        writer.write(contracts.TEST, rows)
    answers = [prediction("untuned", "t", str(n)) for n in range(2)]
    with ArtifactWriter(repo.root / results.UNTUNED_ANSWERS) as writer:
        writer.write(contracts.PREDICTIONS, answers)
    repo.write(dvc=DVC, setting="1")
    repo.dvc("commit", "--force", "--quiet")

    def aggregate(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"level": "overall", "value": len(found)}, {"level": "task", "value": 0}]

    def score(system: str, test: list[Any], predicted: list[Any]) -> tuple[list[Any], int]:
        return predicted, len(test) - len(predicted)

    scoring = results.Scoring(score, aggregate, lambda *_: [], {})
    same = results.Artifacts(rows, [], 0, 0, None).instances
    assert results.untuned(repo.root, same, scoring) == [{"value": 2}]
    assert results.untuned(repo.root, "others", scoring) == []
    repo.write(setting="2")  # another model, say: the predictions are of the one before
    assert results.untuned(repo.root, same, scoring) == []
