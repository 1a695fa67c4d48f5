"""Differences, gains, correlation and dev losses: the page tells what the tables hold, drawings are to scale."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from nightjar.benchmarks.supernatinst.scoring import COMPARISONS

from nightjar.core import contracts, tables
from stages.report import curves, drawings, results
from stages.report.drawings import Lane
from tests.stages.report.test_stage import OUT, parsed, run

SVG = "{http://www.w3.org/2000/svg}"
FOLDER = Path("data/evaluate/supernatinst")


def signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def test_the_page_tells_what_the_tables_hold(project: Path) -> None:
    assert run().returncode == 0
    found = [[cell.strip() for cell in row] for row in parsed().rows]
    compared = tables.read_rows(FOLDER, contracts.COMPARISONS)
    for row in compared:
        if row["system"] == "supervised" and row["baseline"] != "tk_instruct":
            continue  # for the notes on the upper bound
        told = (f"{row['system']} − {row['baseline']}", results.TRACK_NAMES[row["track"]],
                results.METRIC_NAMES[row["metric"]], signed(row["value"]))  # fmt: skip
        counts = [f"{row[name]:,}" for name in ("better", "worse", "equal")]
        if row["level"] == "overall" and row["metric"] != "rouge1":
            (line,) = [line for line in found if tuple(line[:4]) == told]
            assert line[6:9] == counts and line[9] == ("yes" if row["moved"] else "no")
            assert line[5] == (f"{row['p']:.4f}" if row["p"] >= 0.0001 else "< 0.0001")
        if row["level"] == "category" and row["metric"] == contracts.category_metric(row["name"]):
            name = row["name"].replace("_", " ").capitalize()
            assert [line[7:] for line in found if line[0] == name and tuple(line[1:5]) == told] == [counts]
    gains = {(row["system"], row["task_id"]): row for row in tables.read_rows(FOLDER, contracts.IMPROVEMENTS)}
    (line,) = [line for line in found if line[0] == "task900_made_up" and "copy_" in line[2]]
    cells = [
        gains[system, "task900_made_up"] for system in ("untuned", "tk_instruct", "combined", "supervised")
    ]
    assert line[4:] == [f"{signed(c['value'])}n = 8, too few" for c in cells]
    text = (OUT / "index.html").read_text()
    entry = json.loads(Path("data/metrics/evaluate-supernatinst.json").read_text())["correlation"][0]
    assert f"r = {entry['r']:.3f}" in text and f"{entry['points']} points" in text
    assert text.count(" upper bound</small>") == 2  # in the headline of both tracks


def test_pairs_are_those_of_the_stage(project: Path) -> None:
    run()
    text = (OUT / "report.md").read_text()
    for system, baseline in COMPARISONS:
        assert f"| {system} − {baseline} |" in text


def gained(task: str, value: float) -> dict[str, Any]:
    return {"task_id": task, "value": value, "low": value - 5, "high": value + 5}


def test_gains_have_task_names_and_are_sorted_and_to_scale() -> None:
    rows = [gained(f"task{number}", value) for number, value in enumerate([10.0, -20.0, 40.0])]
    root = ElementTree.fromstring(curves.gains([("tuned", 3, rows), ("none", 4, [])]))
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


def test_a_gain_without_an_interval_has_a_bar_and_no_line() -> None:
    rows = [gained("task0", 10.0), gained("task1", 40.0) | {"low": None, "high": None}]
    root = ElementTree.fromstring(curves.gains([("tuned", 3, rows)]))
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert {"task0: +10.0 (+5.0 to +15.0)", "task1: +40.0"} <= set(titles)
    lines = [line for line in root.iter(f"{SVG}line") if line.get("stroke") == "var(--ink)"]
    widths = [float(line.get("x2", "")) - float(line.get("x1", "")) for line in lines]
    assert sorted(width > 0 for width in widths) == [False, True]


def test_a_row_has_the_same_task_in_every_panel() -> None:
    first = [gained("task1", 10.0), gained("task2", 20.0)]
    second = [gained("task2", 1.0), gained("task1", 50.0)]
    root = ElementTree.fromstring(curves.gains([("one", 3, first), ("other", 4, second)]))
    heights: dict[str, set[str]] = {}
    for bar in root.iter(f"{SVG}rect"):
        if (title := bar.findtext(f"{SVG}title")) is not None:
            heights.setdefault(title.split(":")[0], set()).add(bar.get("y", ""))
    assert len(heights) == 2 and all(len(found) == 1 for found in heights.values())
    assert float(heights["task1"].pop()) < float(heights["task2"].pop())  # the larger mean gain first


def test_axes_have_round_labels() -> None:
    losses = curves.losses([("combined", 4, [(10, 0.5891), (20, 0.5707), (27, 0.614)], 20)])
    texts = [text.text for text in ElementTree.fromstring(losses).iter(f"{SVG}text")]
    assert {"0.57", "0.6", "0.62", "0", "10", "25"} <= set(texts) and "27" not in texts
    counted = drawings.thresholds([("calculator", [0.1] * 37, 1000.0)])
    texts = [text.text for text in ElementTree.fromstring(counted).iter(f"{SVG}text")]
    assert {"0", "10", "20", "30", "200", "1,000"} <= set(texts) and len(texts) < 20


def test_losses_go_down_and_the_chosen_step_is_marked() -> None:
    root = ElementTree.fromstring(curves.losses([("combined", 4, [(0, 3.0), (10, 1.0), (20, 2.0)], 10)]))
    points = re.findall(r"[\d.]+ [\d.]+", root.find(f"{SVG}path").get("d", ""))  # type: ignore[union-attr]
    heights = [float(point.split()[1]) for point in points]
    assert heights[0] < heights[2] < heights[1]  # upwards is more
    assert heights[2] == pytest.approx((heights[0] + heights[1]) / 2, abs=0.01)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles == ["combined, step 10: 1.000 (chosen)"]
    curves.losses([("one", 0, [(0, 1.0)], None)])  # a single point has no range


def test_correlation_marks_stand_at_their_means() -> None:
    point = {"system": "a", "category": "word_analogy", "exact_match": 25.0, "rougeL": 75.0}
    root = ElementTree.fromstring(curves.correlation([point], ["b", "a"]))
    texts = {text.text: text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "middle"}
    (mark,) = [one for one in root.iter(f"{SVG}polygon") if one.find(f"{SVG}title") is not None]
    left, right = float(texts["0"].get("x", "")), float(texts["100"].get("x", ""))
    middle = [float(corner.split(",")[0]) for corner in mark.get("points", "").split()]
    assert sum(middle) / len(middle) == pytest.approx(left + (right - left) / 4, abs=0.01)


def test_an_evaluation_of_few_points(project: Path) -> None:
    path = Path("data/metrics/evaluate-supernatinst.json")
    facts = json.loads(path.read_text())
    facts["correlation"] = [{"track": "default", "points": 1, "r": None, "low": None, "high": None,
                             "of": facts["correlation"][0]["of"][:1]}]  # fmt: skip
    path.write_text(json.dumps(facts))
    assert run().returncode == 0
    assert "not enough points (1)" in unescape((OUT / "index.html").read_text())


def test_a_correlation_without_an_interval_says_why(project: Path) -> None:
    assert run().returncode == 0
    entry = json.loads(Path("data/metrics/evaluate-supernatinst.json").read_text())["correlation"][1]
    assert entry["points"] == 6 and entry["low"] is None
    told = f"Cross-lingual track: r = {entry['r']:.3f} over 6 points, too few points for an interval"
    for file in ("index.html", "report.md"):
        assert told in (OUT / file).read_text()


def test_the_bound_is_not_what_is_best() -> None:
    lanes = {"combined": Lane(50.0, 40, 60), "supervised": Lane(70.0, 60, 80)}
    assert results.Row("x", "X", "rougeL", 9, lanes).best() == 50.0
    assert results.Row("x", "X", "rougeL", 9, {"supervised": lanes["supervised"]}).best() == 70.0
