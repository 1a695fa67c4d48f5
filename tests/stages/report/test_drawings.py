"""Drawings are well-formed, keep texts as texts, and put marks where the numbers say."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from stages.report import drawings, svg
from stages.report.drawings import Lane
from stages.report.facts import Node

SVG = "{http://www.w3.org/2000/svg}"


def nodes() -> list[Node]:
    return [
        Node("a@<b>", (), ("x",), 1200, 1199, 1, {}),
        Node('c"', ("x",), ("y",), 5, 5, 0, {}),
    ]


def test_scores_are_to_scale() -> None:
    rows = [("Title & more", "ROUGE-L", {"one": Lane(50, 20, 80), "two": Lane(0, 0, 0)})]
    root = ElementTree.fromstring(drawings.scores(rows, ["one", "two"], "label"))
    texts = {text.text: text for text in root.iter(f"{SVG}text")}
    start, end = float(texts["0"].get("x", "")), float(texts["100"].get("x", ""))
    rings = [ring for ring in root.iter(f"{SVG}circle") if ring.find(f"{SVG}title") is not None]
    assert float(rings[0].get("cx", "")) == pytest.approx((start + end) / 2)
    whisker = next(line for line in root.iter(f"{SVG}line") if line.get("stroke") == "var(--s1)")
    assert float(whisker.get("x1", "")) == pytest.approx(start + 0.2 * (end - start))
    assert float(whisker.get("x2", "")) == pytest.approx(start + 0.8 * (end - start))
    assert "Title & more" in texts


def test_a_score_without_an_interval_has_a_mark_and_no_width() -> None:
    lane = Lane(50, None, None)
    assert (lane.text, lane.ends) == ("50.0", (50, 50)) and Lane(50, 20, 80).text == "50.0 (20.0 to 80.0)"
    for drawing in (drawings.scores([("a", "b", {"one": lane})], ["one"], "label"), drawings.strip(lane, 0)):
        root = ElementTree.fromstring(drawing)
        (line,) = [line for line in root.iter(f"{SVG}line") if line.get("stroke") == "var(--s1)"]
        assert line.get("x1") == line.get("x2")


def test_thresholds_count_down() -> None:
    root = ElementTree.fromstring(
        drawings.thresholds([("calculator", [-1.0, 0.2, 0.6, 0.6], 0.5), ("none", [], 1.0)])
    )
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "2 kept at 0.5" in texts and "0 kept at 1" in texts
    assert next(root.iter(f"{SVG}path")).get("d", "").count("V") == 3


def test_graph_and_mermaid() -> None:
    sources = {"a@<b>": set[str](), 'c"': {"a@<b>"}}
    root = ElementTree.fromstring(drawings.graph(nodes(), sources))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "<b>" in texts and "1,200 in · 1,199 out · 1 rejected" in texts
    assert len(list(root.iter(f"{SVG}path"))) == 1
    flow = drawings.mermaid(nodes(), sources)
    assert "n0 --> n1" in flow and 'c#quot;<br/>5 in · 5 out"]' in flow


def test_standalone_brings_its_colours() -> None:
    alone = svg.standalone(drawings.strip(Lane(5, 1, 9), 2))
    root = ElementTree.fromstring(alone)
    style = root.findtext(f"{SVG}style") or ""
    assert all(f"--{name}: {colour}" in style for name, colour in svg.LIGHT.items())
    assert "prefers-color-scheme: dark" in style


def test_neighbouring_systems_differ_in_shape_and_colour() -> None:
    marks = [svg.mark(0, 0, number) for number in range(10)]
    assert len(set(marks)) == 10
    assert (
        len({svg.colour(number) for number in range(5)})
        == len(set(svg.LIGHT[f"s{n}"] for n in range(1, 6)))
        == 5
    )
