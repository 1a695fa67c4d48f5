"""Drawings are well-formed, keep texts as texts, and put marks where the numbers say."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from nightjar.benchmarks.card import Metric
from nightjar.benchmarks.sections import Interval
from stages.report.plots import drawings, svg
from stages.report.read.facts import Node

METRIC = Metric("rougeL", "ROUGE-L")
ORDER = {"one": 0, "two": 1}
SVG = "{http://www.w3.org/2000/svg}"


def nodes() -> list[Node]:
    return [
        Node("a@<b>", (), ("x",), 1200, 1199, 1, {}),
        Node('c"', ("x",), ("y",), 5, 5, 0, {}),
    ]


def test_scores_are_to_scale() -> None:
    rows = [("Title & more", "ROUGE-L", METRIC, {"one": Interval(50, 20, 80), "two": Interval(0, 0, 0)})]
    root = ElementTree.fromstring(drawings.scores("x", rows, ["one", "two"], ORDER, "label").drawing)
    texts = {text.text: text for text in root.iter(f"{SVG}text")}
    start, end = float(texts["0"].get("x", "")), float(texts["100"].get("x", ""))
    rings = [ring for ring in root.iter(f"{SVG}circle") if ring.find(f"{SVG}title") is not None]
    assert float(rings[0].get("cx", "")) == pytest.approx((start + end) / 2)
    whisker = next(line for line in root.iter(f"{SVG}line") if line.get("stroke") == "var(--s1)")
    assert float(whisker.get("x1", "")) == pytest.approx(start + 0.2 * (end - start))
    assert float(whisker.get("x2", "")) == pytest.approx(start + 0.8 * (end - start))
    assert "Title & more" in texts


def test_few_instances_have_a_mark_without_a_line() -> None:
    found = [
        [
            one
            for one in ElementTree.fromstring(drawings.strip(lane, 0, METRIC, 0)).iter()
            if "stroke" in one.attrib
        ]
        for lane in (Interval(50, 20, 80), Interval(50, None, None))
    ]
    assert len(found[0]) == len(found[1]) + 1
    assert "<title>50.0</title>" in drawings.strip(Interval(50, None, None), 0, METRIC, 0)


@pytest.mark.parametrize(("ends", "highest", "last"), [((0, 1), 0.4, "1"), ((1, math.inf), 37.0, "30")])
def test_the_axis_has_the_range_of_the_metric(ends: tuple[float, float], highest: float, last: str) -> None:
    metric = Metric("other", "other", range=ends, scale=1.0)
    rows = [("Title", "note", metric, {"one": Interval(highest, None, None)})]
    root = ElementTree.fromstring(drawings.scores("x", rows, ["one"], ORDER, "label").drawing)
    ticks = [one.text for one in root.iter(f"{SVG}text") if one.get("text-anchor") == "middle"]
    assert ticks[-1] == last
    width = float(root.get("width", ""))
    assert all(float(one.get("cx", "")) < width for one in root.iter(f"{SVG}circle"))


def test_many_systems_fit_in_the_legend() -> None:
    systems = [f"system_{number:02}_with_a_name" for number in range(12)]
    order = {system: at for at, system in enumerate(systems)}
    rows = [("Title", "note", METRIC, {system: Interval(1, None, None) for system in systems})]
    root = ElementTree.fromstring(drawings.scores("x", rows, systems, order, "label").drawing)
    places = {
        (one.get("x"), one.get("y")) for one in root.iter(f"{SVG}text") if (one.text or "")[:6] == "system"
    }
    assert len(places) == 12
    assert all(float(x or 0) + 6.6 * len(systems[0]) < 920 for x, _ in places)
    assert max(float(y or 0) for _, y in places) < min(
        float(one.get("y", "")) for one in root.iter(f"{SVG}text") if one.text == "1.0")  # fmt: skip


def test_graph() -> None:
    sources = {"a@<b>": set[str](), 'c"': {"a@<b>"}}
    found = drawings.graph(nodes(), sources)
    root = ElementTree.fromstring(found.drawing)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "<b>" in texts and "1,200 in · 1,199 out · 1 rejected" in texts
    assert len(list(root.iter(f"{SVG}path"))) == 1
    assert found.rows == [("a@<b>", 1200, 1199, 1, ""), ('c"', 5, 5, 0, "a@<b>")]


def test_a_plot_has_its_numbers() -> None:
    lanes = {"one": Interval(50, 20, 80), "two": Interval(0.5, None, None)}
    found = drawings.scores(
        "x", [("Title, & more", "note", METRIC, lanes)], ["one", "two"], ORDER, "label"
    ).files()
    assert list(found) == ["x.svg", "x.csv"] and found["x.svg"].startswith("<svg")
    assert found["x.csv"].splitlines() == [
        "row,metric,system,value,low,high",
        '"Title, & more",ROUGE-L,one,50,20,80',
        '"Title, & more",ROUGE-L,two,0.5,,',
    ]


def test_standalone_brings_its_colours() -> None:
    alone = svg.standalone(drawings.strip(Interval(5, 1, 9), 2, METRIC, 9))
    root = ElementTree.fromstring(alone)
    style = root.findtext(f"{SVG}style") or ""
    assert all(f"--{name}: {colour}" in style for name, colour in svg.LIGHT.items())
    assert "prefers-color-scheme: dark" in style


def test_neighbouring_systems_differ_in_shape_and_colour() -> None:
    marks = [svg.mark(0, 0, number) for number in range(30)]
    assert len(set(marks)) == 30
    assert (
        len({svg.colour(number) for number in range(5)})
        == len(set(svg.LIGHT[f"s{n}"] for n in range(1, 6)))
        == 5
    )
