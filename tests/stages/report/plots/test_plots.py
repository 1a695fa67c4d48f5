"""Plots have the numbers that they are made of, and their files have them as marks, texts and CSV, with equal bytes."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightjar.benchmarks.sections import Interval, Intervals, PlotAxis, PlotPoint, Points
from nightjar.statistics.metric import Metric
from stages.report.plots import kinds
from stages.report.plots.kinds import BIN, HIGH, LOW
from stages.report.plots.spec import Mark, Plot, rounded
from stages.report.plots.svg import COLOURS

METRIC = Metric("rougeL", "ROUGE-L")
ROLES = {"people": "human", "ours": "treatment", "rule": "baseline", "top": "bound"}
LANES = {
    "people": Interval(90.0, 80.0, 95.0),
    "ours": Interval(48.1, 40.2, 55.9),
    "rule": Interval(3.0, None, None),
    "top": Interval(61.0, 50.0, 70.0),
}
SVG = "{http://www.w3.org/2000/svg}"
GRAPHS = st.sets(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1]), max_size=16
).map(lambda edges: {f"n{n}": {f"n{a}" for a, b in edges if b == n} for n in range(10)})


def forest() -> Plot:
    return kinds.forest(Intervals("scores", "A <label>", [("Row & one", "n = 25", METRIC, LANES)]), ROLES)


def marks(plot: Plot, kind: str, panel: int = 0) -> list[Mark]:
    return [mark for mark in plot.panels[panel].marks if mark.kind == kind]


def test_a_forest_has_every_value_at_its_place_in_the_colour_of_its_role() -> None:
    plot = forest()
    labels = [text for _, text in plot.panels[0].y.labels]
    assert labels == ["rule", "ours", "top", "people"], "by role"
    assert {mark.x[0]: mark.colour for mark in marks(plot, "dot")} == {
        90.0: "human", 48.1: "treatment", 3.0: "baseline", 61.0: "bound",
    }  # fmt: skip
    assert {tuple(mark.x) for mark in marks(plot, "line")} == {
        (80.0, 95.0),
        (40.2, 55.9),
        (50.0, 70.0),
    }
    assert "ours (treatment)\n48.1 [40.2, 55.9]" in {mark.title for mark in marks(plot, "dot")}
    assert len({mark.symbol for mark in marks(plot, "dot")}) == 4, (
        "a shape a role, for readers without colours"
    )
    assert list(plot.rows)[1] == ("Row & one", "ROUGE-L", "ours", 48.1, 40.2, 55.9) or len(plot.rows) == 4


def test_the_files_have_the_same_numbers_and_texts() -> None:
    plot = kinds.forest(Intervals("scores", "x", [("Row $a_b$ & \x1b one", "n = 25", METRIC, LANES)]), ROLES)
    _, files = plot.draw()
    root = ElementTree.fromstring(files["scores.svg"])
    texts = {it.text for it in root.iter(f"{SVG}text")}
    assert {"Row $a_b$ & \\x1b one", "n = 25", *LANES} <= texts, "no formula, and no control character"
    titles = [it.text for it in root.iter(f"{SVG}title")]
    assert titles == [mark.title for mark in marks(plot, "dot")] and len(titles) == len(LANES)
    rows = list(csv.DictReader(io.StringIO(files["scores.csv"])))
    assert [(row["system"], float(row["value"])) for row in rows] == [
        (name, it.value) for name, it in LANES.items()
    ]
    assert rows[2]["low"] == rows[2]["high"] == ""
    drawn = files["scores.svg"]
    assert "var(--human)" in drawn and "prefers-color-scheme: dark" in drawn
    assert not any(word in drawn for word in ("url(http", "<script", "dc:date"))


def test_texts_of_a_drawing_in_the_page_are_no_markup() -> None:
    lanes = {"</svg><b>": Interval(1.0, None, None)}
    plot = kinds.forest(Intervals("a", "a", [("r", "", METRIC, lanes)]), {"</svg><b>": "human"})
    ((drawing,), _) = plot.draw()
    root = ElementTree.fromstring(drawing)
    assert [it.text for it in root.iter(f"{SVG}title")] == ["</svg><b> (human)\n1.0"]
    assert "</svg><b>" in {it.text for it in root.iter(f"{SVG}text")} and " id=" not in drawing


def test_a_drawing_has_a_mark_a_value_in_the_colour_of_its_role() -> None:
    ((drawing,), _) = forest().draw()
    root = ElementTree.fromstring(drawing)
    for role in ROLES.values():
        assert sum(f"fill: var(--{role})" in it.get("style", "") for it in root.iter(f"{SVG}path")) == 1
    assert "#" not in drawing, "every colour is one of the style's"


def test_equal_plots_have_equal_bytes_in_another_process() -> None:
    code = "from tests.stages.report.plots.test_plots import forest; print(forest().draw()[1]['scores.svg'], end='')"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout == forest().draw()[1]["scores.svg"]


def test_gains_are_ordered_by_their_mean_and_reach_from_zero() -> None:
    def row(task: str, value: float, low: float | None = None) -> dict[str, object]:
        return {
            "task_id": task,
            "category": "c",
            "heuristic": "copy_input",
            "value": value,
            "low": low,
            "high": None if low is None else value + 1,
            "n": 25,
        }

    rows = {"ours": [row("b", -5.0), row("a", 20.0, 10.0)], "top": [row("a", 30.0), row("b", 1.0)]}
    plot = kinds.gains("gains", METRIC, rows, ROLES)
    assert [text for _, text in plot.panels[0].y.labels] == ["a", "b"]
    assert [tuple(mark.x) for mark in marks(plot, "rect")] == [(-5.0, 0), (0, 20.0)]
    assert [panel.note for panel in plot.panels] == ["better on 1 of 2", "better on 2 of 2"]
    assert plot.panels[0].x == plot.panels[1].x and plot.panels[0].x.low <= -5 and plot.panels[0].x.high >= 30


def test_points_are_joined_where_the_plot_says_so() -> None:
    some = [PlotPoint(0, 10, "first", 5, 15), PlotPoint(50, 20, "second")]
    for joined in (True, False):
        it = Points(
            "p", "x", PlotAxis("x", 0, 100), PlotAxis("y", 0, 100), {"ours": some}, ("a",), [(1,)], joined
        )
        plot = kinds.points(it, ROLES)
        lines = marks(plot, "line")
        assert sum(mark.width == 1.8 for mark in lines) == joined and len(marks(plot, "dot")) == 2
        assert sum(mark.dashed for mark in lines) == (not joined), "the diagonal"
        assert plot.legend == [("treatment", "circle", "ours")] and "second" in "".join(plot.draw()[0])


def test_every_step_of_training_is_there_and_the_kept_one_is_marked() -> None:
    steps = [(step, 3.0 / step) for step in range(1, 101)]
    recipes = {"ours": {"training": steps, "dev": [(50, 0.5), (100, 0.7)]}, "other": {"training": steps[:3]}}
    plot = kinds.curves("losses", "x", "loss", recipes, ROLES, {"ours": 50})
    assert [panel.title for panel in plot.panels] == ["ours", "other"], "a panel a recipe"
    assert len(marks(plot, "line")[0].x) == 100
    assert [mark.symbol for mark in marks(plot, "dot")] == ["star", "circle"], (
        "a line alone for so many steps"
    )
    assert [row for row in plot.rows if row[4] == "yes"] == [("ours", "dev", 50, 0.5, "yes")]
    assert len(plot.rows) == 105


def test_calls_are_counted_in_bins_and_extremes_in_the_outermost() -> None:
    gains = [-9.0, LOW, 0.0, 0.24, 0.25, 0.5, HIGH - 0.01, HIGH, 99.0]
    assert sum(kinds.counts(gains).values()) == len(gains)
    plot = kinds.histograms("calls", [("calculator", gains, 0.5)])
    rows = {row[1]: row[3:] for row in plot.rows}
    assert rows[LOW] == (2, 0) and rows[0.0] == (2, 0) and rows[HIGH - BIN] == (3, 3) and rows[0.5] == (1, 1)
    assert plot.panels[0].note == "4 of 9 save at least 0.5"
    assert sum(mark.y[1] - mark.y[0] for mark in marks(plot, "rect")) == 9


@given(GRAPHS)
def test_a_stage_is_below_all_that_it_reads_from_and_no_two_are_at_one_place(
    edges: dict[str, set[str]],
) -> None:
    reads = networkx.DiGraph([(one, node) for node, direct in edges.items() for one in direct])
    reads.add_nodes_from(edges)
    plot = kinds.graph("stages", {node: ["1 → 1 rows"] for node in edges}, reads, [])
    places = [(*mark.x, mark.y[0]) for mark in marks(plot, "rect")]
    above = dict(zip(edges, (place[2] for place in places), strict=True))
    assert all(above[one] > above[node] for node, direct in edges.items() for one in direct)
    assert len(set(places)) == len(edges)
    for first, last, y in places:
        assert not [other for other in places if other[2] == y and first < other[0] < last]
        assert 0 <= first < last <= 1


@pytest.mark.parametrize(
    ("low", "high", "wanted"), [(0, 27, (0, 30)), (0.57, 0.614, (0.57, 0.62)), (-32, 64, (-40, 80)), (2, 2, (2, 3))]
)  # fmt: skip
def test_an_axis_reaches_over_its_values(low: float, high: float, wanted: tuple[float, float]) -> None:
    assert rounded(low, high) == pytest.approx(wanted)


def test_each_colour_of_the_style_has_one_name() -> None:
    """A drawing has the names: with two for a colour, one of them would be lost in the dark scheme."""
    assert {"paper", "ink", "human", "treatment"} <= COLOURS.keys()
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_a_gain_of_zero_can_be_pointed_at() -> None:
    row = {
        "task_id": "t",
        "category": "c",
        "heuristic": "copy",
        "value": 0.0,
        "low": -1.0,
        "high": 1.0,
        "n": 30,
    }
    plot = kinds.gains("gains", METRIC, {"ours": [row]}, ROLES)
    titled = [it for it in ElementTree.fromstring(plot.draw()[0][0]) if it.find(f"{SVG}title") is not None]
    assert [it.find(f"{SVG}title").text for it in titled] == [marks(plot, "rect")[0].title] * 2  # type: ignore[union-attr]
    assert "stroke: var(--treatment)" in titled[0].attrib["style"]


def test_a_mark_outside_of_its_axes_is_an_error() -> None:
    plot = forest()
    beyond = Mark("line", (2e6, 3e6), (1.0, 1.0), "ink")
    panel = replace(plot.panels[0], marks=[beyond])
    with pytest.raises(ValueError, match="outside of its axes"):
        replace(plot, panels=[panel]).draw()
