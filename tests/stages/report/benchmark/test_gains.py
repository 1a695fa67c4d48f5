"""Differences, gains, correlation and dev losses: the page tells what the tables hold, drawings are to scale."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.card import Metric
from nightjar.benchmarks.sections import Axis, Interval, Point, Points
from nightjar.core import contracts, tables
from nightjar.core.display import number, p
from stages.report.plots import curves
from stages.report.read import results
from tests.stages.report.building import BASELINES, MODELS, NAME, SCORED
from tests.stages.report.test_stage import OUT, parsed, run, text

SVG = "{http://www.w3.org/2000/svg}"
FACTS = Path("data/metrics/evaluate-supernatinst.json")
CARD = registry.card(NAME)
METRIC = CARD.metric("rougeL")
# Pairs that are shown over all instances alone.
OTHERS = {("supervised", "untuned"), ("supervised", "combined")}


def signed(value: float) -> str:
    return number(value, 1, signed=True).replace("-", "−")


def ends(row: dict[str, Any]) -> str:
    return "n<20" if row["low"] is None else f"[{signed(row['low'])}, {signed(row['high'])}]"


def test_the_page_shows_the_numbers_of_the_tables(reported: Path) -> None:
    found = [[cell.strip() for cell in row] for row in parsed().rows]
    compared = tables.read_rows(SCORED, contracts.COMPARISONS)
    assert {row["low"] is None for row in compared} == {True, False}
    for row in compared:
        if row["baseline"] in BASELINES:
            continue
        metric = CARD.metric(row["metric"])
        cells = [f"{row['system']} − {row['baseline']}", CARD.track_title(row["track"]), f"{metric.title} (%)",
                 f"{row['n']}", signed(row["value"]), ends(row),
                 "n<20" if row["p"] is None else p(row["p"]),
                 *(f"{row[name]:,}" for name in ("better", "worse", "equal")),
                 "yes" if row["significant"] else "no"]  # fmt: skip
        if row["level"] == "overall" and row["metric"] != "rouge1":
            assert found.count(cells) == 1
        if (row["system"], row["baseline"]) in OTHERS:
            continue
        if row["level"] == "category" and metric == CARD.main_metric(row["name"]):
            assert [row["name"].replace("_", " ").capitalize(), *cells] in found
    page = unescape((OUT / f"{NAME}.html").read_text())
    entry = json.loads(FACTS.read_text())["correlation"][0]
    assert f"r = {number(entry['r'], 3)}" in page and f"{entry['points']} points" in page
    assert "Published: Pearson's r = 0.970" in page
    assert page.count(" upper bound</small>") == 2  # in the headline of both tracks


def test_gains_of_a_task(reported: Path) -> None:
    gains = {(row["system"], row["task_id"]): row for row in tables.read_rows(SCORED, contracts.IMPROVEMENTS)}
    (line,) = [row for row in parsed().rows if row[0] == "task900_made_up" and "copy_" in row[2]]
    cells = [gains[system, "task900_made_up"] for system in MODELS]
    assert [cell.strip() for cell in line[3:]] == ["8n<20", *(signed(cell["value"]) for cell in cells)]


def gained(task: str, value: float) -> dict[str, Any]:
    return {"task_id": task, "value": value, "low": value - 5, "high": value + 5, "n": 8}


def test_gains_of_few_instances_have_no_line() -> None:
    row = gained("task1", 10.0)
    row["low"], row["high"] = 8.0, 10.0  # the axis is the same without them
    drawn = [
        curves.gains("x", [("tuned", 3, [one])], METRIC).drawing
        for one in (row, row | {"low": None, "high": None})
    ]
    assert drawn[0].count("<line") == drawn[1].count("<line") + 1
    assert "task1: +10.0 n&lt;20" in drawn[1]


def test_a_metric_of_which_less_is_better() -> None:
    metric = Metric("perplexity", "perplexity", range=(1, 100), scale=1.0, higher_is_better=False)
    drawn = curves.gains("x", [("tuned", 3, [gained("task1", 10.0), gained("task2", -20.0)])], metric).drawing
    assert "better on 1 of 2" in drawn and drawn.index(">task2<") < drawn.index(">task1<")
    row = results.Row("x", "X", metric, 9, {"a": Interval(20, None, None), "b": Interval(10, None, None)})
    assert [row.is_best(system) for system in "ab"] == [False, True]


def test_gains_have_task_names_and_are_sorted_and_to_scale() -> None:
    rows = [gained(f"task{number}", value) for number, value in enumerate([10.0, -20.0, 40.0])]
    root = ElementTree.fromstring(curves.gains("x", [("tuned", 3, rows), ("none", 4, [])], METRIC).drawing)
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]
    assert [bar.find(f"{SVG}title").text.split(":")[0] for bar in bars] == ["task2", "task0", "task1"]  # type: ignore[union-attr]
    lengths = [float(bar.get("width", "")) for bar in bars]
    assert lengths == pytest.approx([lengths[1] * 4, lengths[1], lengths[1] * 2], rel=0.01)
    starts = [float(bar.get("x", "")) for bar in bars]
    assert starts[0] == starts[1] == pytest.approx(starts[2] + lengths[2], abs=0.02)  # a loss ends at zero
    texts = {text.text: text for text in root.iter(f"{SVG}text")}
    names = [float(texts[f"task{number}"].get("y", "")) for number in (2, 0, 1)]
    assert names == sorted(names)
    for bar, height in zip(bars, names, strict=True):  # a name is beside its bar
        top = float(bar.get("y", ""))
        assert top <= height - 3 <= top + float(bar.get("height", ""))
    assert "better on 2 of 3" in texts and {"−20", "0", "20", "40"} <= set(texts)


def test_a_row_has_the_same_task_in_every_panel() -> None:
    first = [gained("task1", 10.0), gained("task2", 20.0)]
    second = [gained("task2", 1.0), gained("task1", 50.0)]
    root = ElementTree.fromstring(
        curves.gains("x", [("one", 3, first), ("other", 4, second)], METRIC).drawing
    )
    heights: dict[str, set[str]] = {}
    for bar in root.iter(f"{SVG}rect"):
        if (title := bar.findtext(f"{SVG}title")) is not None:
            heights.setdefault(title.split(":")[0], set()).add(bar.get("y", ""))
    assert len(heights) == 2 and all(len(found) == 1 for found in heights.values())
    assert float(heights["task1"].pop()) < float(heights["task2"].pop())  # the larger mean gain first


def test_axes_have_round_labels() -> None:
    losses = curves.losses(
        "x", [("combined", 4, [(10, 0.5891), (20, 0.5707), (27, 0.614)], 20)], "loss", "label"
    ).drawing
    texts = [text.text for text in ElementTree.fromstring(losses).iter(f"{SVG}text")]
    assert {"0.57", "0.6", "0.62", "0", "10", "25"} <= set(texts) and "27" not in texts
    counted = curves.histograms("x", [("calculator", [0.1] * 37, 1000.0)]).drawing
    texts = [text.text for text in ElementTree.fromstring(counted).iter(f"{SVG}text")]
    assert {"0", "10", "20", "30", "−1", "≤ −3", "≥ 4"} <= set(texts) and len(texts) < 20


def test_losses_go_down_and_the_chosen_step_is_marked() -> None:
    found = curves.losses("x", [("combined", 4, [(0, 3.0), (10, 1.0), (20, 2.0)], 10)], "loss", "label")
    assert found.rows[1] == ("combined", 10, 1.0, "yes")
    root = ElementTree.fromstring(found.drawing)
    points = re.findall(r"[\d.]+ [\d.]+", root.find(f"{SVG}path").get("d", ""))  # type: ignore[union-attr]
    heights = [float(point.split()[1]) for point in points]
    assert heights[0] < heights[2] < heights[1]  # upwards is more
    assert heights[2] == pytest.approx((heights[0] + heights[1]) / 2, abs=0.01)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles == ["combined, step 10: 1.000 (chosen)"]
    curves.losses("x", [("one", 0, [(0, 1.0)], None)], "loss", "label")  # a single point has no range


def test_correlation_marks_stand_at_their_means() -> None:
    axes = (Axis("exact match", 0, 100), Axis("ROUGE-L", 0, 100))
    plot = Points("x", "label", *axes, {"a": [Point(25.0, 75.0, "a, word_analogy")]}, (), ())
    root = ElementTree.fromstring(curves.points(plot, {"b": 0, "a": 1}).drawing)
    texts = {text.text: text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "middle"}
    (mark,) = [one for one in root.iter(f"{SVG}polygon") if one.find(f"{SVG}title") is not None]
    left, right = float(texts["0"].get("x", "")), float(texts["100"].get("x", ""))
    middle = [float(corner.split(",")[0]) for corner in mark.get("points", "").split()]
    assert sum(middle) / len(middle) == pytest.approx(left + (right - left) / 4, abs=0.01)


def test_an_evaluation_of_few_points(project: Path) -> None:
    facts = json.loads(FACTS.read_text())
    facts["correlation"] = [{"track": "default", "points": 1, "r": None, "low": None, "high": None,
                             "of": facts["correlation"][0]["of"][:1]}]  # fmt: skip
    FACTS.write_text(json.dumps(facts))
    assert run().returncode == 0
    assert "not enough points (1)" in text(f"{NAME}.html")


def test_a_correlation_without_an_interval_says_why(reported: Path) -> None:
    entry = json.loads(FACTS.read_text())["correlation"][1]
    assert entry["points"] == 6 and entry["low"] is None
    told = f"Cross-lingual track: r = {number(entry['r'], 3)} over 6 points, too few points for an interval"
    assert told in text(f"{NAME}.html")


def test_the_bound_is_not_what_is_best() -> None:
    lanes = {
        "combined": Interval(50.0, 40, 60),
        "untuned": Interval(49.0, 40, 60),
        "supervised": Interval(70.0, 60, 80),
    }
    row = results.Row("x", "X", METRIC, 9, lanes)
    assert [system for system in lanes if row.is_best(system)] == ["combined"]
    equal = results.Row("x", "X", METRIC, 9, {"a": Interval(0.0, 0, 0), "b": Interval(0.04, 0, 0)})
    assert not any(equal.is_best(system) for system in "ab"), "equal as they are shown"
