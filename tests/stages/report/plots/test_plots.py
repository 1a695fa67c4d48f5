"""Drawings are well-formed, keep texts as texts, put marks where the numbers say, and bring their numbers."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.card import Metric
from nightjar.benchmarks.sections import Interval
from nightjar.core.errors import NightjarError
from stages.report.plots import curves, drawings, svg
from stages.report.plots.curves import BIN, HIGH, LOW
from stages.report.plots.drawings import layers, layout
from stages.report.read.facts import Node

METRIC = Metric("rougeL", "ROUGE-L")
ORDER = {"one": 0, "two": 1}
SVG = "{http://www.w3.org/2000/svg}"
GRAPHS = st.sets(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1]), max_size=16
).map(lambda edges: {f"n{n}": {f"n{a}" for a, b in edges if b == n} for n in range(10)})


def titled(drawing: str, tag: str) -> list[ElementTree.Element]:
    """The marks of a drawing, each with its text."""
    root = ElementTree.fromstring(drawing)
    return [it for it in root.iter(f"{SVG}{tag}") if it.find(f"{SVG}title") is not None]


def texts(drawing: str) -> dict[str | None, ElementTree.Element]:
    return {it.text: it for it in ElementTree.fromstring(drawing).iter(f"{SVG}text")}


@pytest.mark.parametrize(
    ("low", "high", "whole", "wanted"),
    [
        (0, 27, True, ["0", "5", "10", "15", "20", "25"]),
        (0, 2.08, False, ["0", "0.5", "1", "1.5", "2"]),
        (0, 1, True, ["0", "1"]),
        (0, 61234, True, ["0", "20,000", "40,000", "60,000"]),
        (-32, 64, False, ["−20", "0", "20", "40", "60"]),
        (0, 0, True, ["0"]),
    ],
)
def test_ticks_are_round_and_inside(low: float, high: float, whole: bool, wanted: list[str]) -> None:
    assert [svg.label(tick) for tick in svg.ticks(low, high, whole=whole)] == wanted


def test_an_axis_reaches_over_its_values_with_few_ticks() -> None:
    assert svg.around(0.5707, 0.614) == pytest.approx([0.57, 0.58, 0.59, 0.6, 0.61, 0.62])
    assert svg.around(2, 2)[0] == 2
    for high in (1e-9, 0.3, 7, 1000, 123_456_789.0):
        assert 2 <= len(svg.ticks(0, high)) <= 7 and 2 <= len(svg.around(-high, high)) <= 9


def test_scores_are_to_scale() -> None:
    rows = [("Title & more", "ROUGE-L", METRIC, {"one": Interval(50, 20, 80), "two": Interval(0, 0, 0)})]
    drawing = drawings.scores("x", rows, ["one", "two"], ORDER, "label").drawing
    found = texts(drawing)
    start, end = float(found["0"].get("x", "")), float(found["100"].get("x", ""))
    assert float(titled(drawing, "circle")[0].get("cx", "")) == pytest.approx((start + end) / 2)
    lines = ElementTree.fromstring(drawing).iter(f"{SVG}line")
    whisker = next(line for line in lines if line.get("stroke") == "var(--s1)")
    assert float(whisker.get("x1", "")) == pytest.approx(start + 0.2 * (end - start))
    assert float(whisker.get("x2", "")) == pytest.approx(start + 0.8 * (end - start))
    assert "Title & more" in found


@pytest.mark.parametrize(("ends", "highest", "last"), [((0, 1), 0.4, "1"), ((1, math.inf), 37.0, "30")])
def test_the_axis_has_the_range_of_the_metric(ends: tuple[float, float], highest: float, last: str) -> None:
    metric = Metric("other", "other", range=ends, scale=1.0)
    rows = [("Title", "note", metric, {"one": Interval(highest, None, None)})]
    root = ElementTree.fromstring(drawings.scores("x", rows, ["one"], ORDER, "label").drawing)
    ticks = [one.text for one in root.iter(f"{SVG}text") if one.get("text-anchor") == "middle"]
    assert ticks[-1] == last
    width = float(root.get("width", ""))
    assert all(float(one.get("cx", "")) < width for one in root.iter(f"{SVG}circle"))


def test_graph() -> None:
    nodes = [Node("a@<b>", (), ("x",), 1200, 1199, 1, {}), Node('c"', ("x",), ("y",), 5, 5, 0, {})]
    found = drawings.graph(nodes, {"a@<b>": set[str](), 'c"': {"a@<b>"}})
    assert {"<b>", "1,200 in · 1,199 out · 1 rejected"} <= texts(found.drawing).keys()
    assert found.rows == [("a@<b>", 1200, 1199, 1, ""), ('c"', 5, 5, 0, "a@<b>")]


def test_a_plot_has_its_numbers_and_its_file_its_colours() -> None:
    lanes = {"one": Interval(50, 20, 80), "two": Interval(0.5, None, None)}
    rows = [("Title, & more", "note", METRIC, lanes)]
    found = drawings.scores("x", rows, ["one", "two"], ORDER, "label").files()
    style = ElementTree.fromstring(found["x.svg"]).findtext(f"{SVG}style") or ""
    assert all(f"--{name}: {colour}" in style for name, colour in svg.LIGHT.items())
    assert found["x.csv"].splitlines() == [
        "row,metric,system,value,low,high",
        '"Title, & more",ROUGE-L,one,50,20,80',
        '"Title, & more",ROUGE-L,two,0.5,,',
    ]


def gained(task: str, value: float) -> dict[str, Any]:
    return {"task_id": task, "value": value, "low": value - 5, "high": value + 5, "n": 8}


def test_gains_of_few_instances_have_no_line() -> None:
    row = gained("task1", 10.0) | {"low": 8.0, "high": 10.0}  # the axis is the same without them
    few = row | {"low": None, "high": None}
    drawn = [curves.gains("x", [("tuned", 3, [one])], METRIC).drawing for one in (row, few)]
    assert drawn[0].count("<line") == drawn[1].count("<line") + 1
    assert "task1: +10.0 n&lt;20" in drawn[1]


def test_gains_have_task_names_and_are_sorted_and_to_scale() -> None:
    rows = [gained(f"task{number}", value) for number, value in enumerate([10.0, -20.0, 40.0])]
    drawing = curves.gains("x", [("tuned", 3, rows), ("none", 4, [])], METRIC).drawing
    bars = titled(drawing, "rect")
    assert [(bar.findtext(f"{SVG}title") or "").split(":")[0] for bar in bars] == ["task2", "task0", "task1"]
    lengths = [float(bar.get("width", "")) for bar in bars]
    assert lengths == pytest.approx([lengths[1] * 4, lengths[1], lengths[1] * 2], rel=0.01)
    starts = [float(bar.get("x", "")) for bar in bars]
    assert starts[0] == starts[1] == pytest.approx(starts[2] + lengths[2], abs=0.02)  # a loss ends at zero
    assert "better on 2 of 3" in texts(drawing)


def test_gains_of_a_metric_of_which_less_is_better() -> None:
    metric = Metric("perplexity", "perplexity", range=(1, 100), scale=1.0, higher_is_better=False)
    drawn = curves.gains("x", [("tuned", 3, [gained("task1", 10.0), gained("task2", -20.0)])], metric).drawing
    assert "better on 1 of 2" in drawn and drawn.index(">task2<") < drawn.index(">task1<")


def test_losses_mark_the_chosen_step() -> None:
    found = curves.losses("x", [("combined", 4, [(0, 3.0), (10, 1.0), (20, 2.0)], 10)], "loss", "label")
    assert found.rows[1] == ("combined", 10, 1.0, "yes")
    titles = [title.text for title in ElementTree.fromstring(found.drawing).iter(f"{SVG}title")]
    assert titles == ["combined, step 10: 1.000 (chosen)"]
    curves.losses("x", [("one", 0, [(0, 1.0)], None)], "loss", "label")  # a single point has no range


@given(gains=st.lists(st.floats(-1e6, 1e6), max_size=30))
def test_every_gain_is_counted_once(gains: list[float]) -> None:
    found = curves.counts(gains)
    assert sum(found.values()) == len(gains)
    last = round((HIGH - LOW) / BIN) - 1
    for at in range(last + 1):
        low, high = LOW + at * BIN, LOW + (at + 1) * BIN
        wanted = sum((low <= gain or at == 0) and (gain < high or at == last) for gain in gains)
        assert found[at] == wanted


def test_histogram_bars_are_to_scale_and_kept_calls_differ() -> None:
    gains = [-9.0, *[0.1] * 8, 0.45, *[0.48] * 3, 7.0]
    found = curves.histograms("calls", [("calculator", gains, 0.47), ("none", [], 1.0)])
    assert {"4 of 14 save at least 0.47", "0 of 0 save at least 1"} <= texts(found.drawing).keys()
    heights = [float(bar.get("height", "")) for bar in titled(found.drawing, "rect")]
    # The threshold is inside of the bin from 0.25, whose kept calls have a bar of their own.
    assert [height * 8 / heights[1] for height in heights] == pytest.approx([1, 8, 1, 3, 1], rel=0.01)
    assert [(row[1], *row[3:]) for row in found.rows] == [(-3, 1, 0), (0, 8, 0), (0.25, 4, 3), (3.75, 1, 1)]


@given(GRAPHS)
def test_edges_run_down_layer_by_layer_and_nodes_keep_apart(sources: dict[str, set[str]]) -> None:
    plan = layout(sources, 100, 20, 10)
    assert plan.places.keys() == sources.keys()
    wanted = {
        (plan.places[above], plan.places[below]) for below, direct in sources.items() for above in direct
    }
    assert {(way[0], way[-1]) for way in plan.ways} == wanted
    for way in plan.ways:
        assert [y for _, y in way] == list(range(way[0][1], way[-1][1] + 1))
    for x, y in plan.places.values():
        assert 50 <= x <= plan.width - 50 and 0 <= y < plan.layers
        beside = [other for other, level in plan.places.values() if level == y and other != x]
        assert all(abs(x - other) >= 120 for other in beside)
        passing = [at for way in plan.ways for at, level in way[1:-1] if level == y]
        assert all(abs(x - at) >= 75 for at in passing)
    assert layout(sources, 100, 20, 10) == plan


def test_layers_and_a_circle() -> None:
    chain = {"a": set(), "late": set(), "b": {"a"}, "c": {"b", "late"}}
    assert layers(chain) == {"a": 0, "b": 1, "late": 1, "c": 2}, "as low as the readers allow"
    with pytest.raises(NightjarError, match="circle"):
        layers({"a": {"b"}, "b": {"a"}})
    assert layout({}, 1, 1, 1).width == 0
