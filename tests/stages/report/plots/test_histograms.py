"""Histograms of the loss saved: every call is in one bin, and the bars are to scale."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.report.plots.curves import BIN, HIGH, LOW, counts, histograms

SVG = "{http://www.w3.org/2000/svg}"
GAINS = st.lists(st.floats(-1e6, 1e6), max_size=30)


@given(gains=GAINS)
def test_every_gain_is_counted_once(gains: list[float]) -> None:
    found = counts(gains)
    assert sum(found.values()) == len(gains)
    last = round((HIGH - LOW) / BIN) - 1
    for at in range(last + 1):
        low, high = LOW + at * BIN, LOW + (at + 1) * BIN
        wanted = sum((low <= gain or at == 0) and (gain < high or at == last) for gain in gains)
        assert found[at] == wanted


def test_bars_are_to_scale_and_kept_calls_differ() -> None:
    gains = [-9.0, *[0.1] * 8, 0.45, *[0.48] * 3, 7.0]
    found = histograms("calls", [("calculator", gains, 0.47), ("none", [], 1.0)])
    root = ElementTree.fromstring(found.drawing)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "4 of 14 save at least 0.47" in texts and "0 of 0 save at least 1" in texts
    bars = [
        (bar.find(f"{SVG}title").text, float(bar.get("height", "")), bar.get("fill"))  # type: ignore[union-attr]
        for bar in root.iter(f"{SVG}rect")
    ]
    unit = bars[1][1] / 8
    assert [(told, fill) for told, _, fill in bars] == [
        ("-3 to -2.75: 1, 0 kept", "var(--s1)"),
        ("0 to 0.25: 8, 0 kept", "var(--s1)"),
        # The threshold is inside of this bin.
        ("0.25 to 0.5: 4, 3 kept", "var(--s1)"),
        ("0.25 to 0.5: 4, 3 kept", "var(--s4)"),
        ("3.75 to 4: 1, 1 kept", "var(--s4)"),
    ]
    assert [height / unit for _, height, _ in bars] == pytest.approx([1, 8, 1, 3, 1], rel=0.01)
    assert [(row[1], *row[3:]) for row in found.rows] == [(-3, 1, 0), (0, 8, 0), (0.25, 4, 3), (3.75, 1, 1)]


def test_panels_are_three_in_a_row() -> None:
    sizes = [
        ElementTree.fromstring(histograms("calls", [(str(n), [0.0], 1.0) for n in range(tools)]).drawing).get(
            "viewBox", ""
        )
        for tools in (1, 3, 4, 6)
    ]
    widths, heights = zip(*(map(float, size.split()[2:]) for size in sizes), strict=True)
    assert widths[0] < widths[1] == widths[2] == widths[3]
    assert heights[0] == heights[1] < heights[2] == heights[3]
