"""Ticks are round values; an axis reaches over its values."""

from __future__ import annotations

import pytest

from stages.report.plots import svg


@pytest.mark.parametrize(
    ("low", "high", "whole", "wanted"),
    [
        (0, 27, True, ["0", "5", "10", "15", "20", "25"]),
        (0, 2.08, False, ["0", "0.5", "1", "1.5", "2"]),
        (0, 3, True, ["0", "1", "2", "3"]),
        (0, 1, True, ["0", "1"]),
        (0, 61234, True, ["0", "20,000", "40,000", "60,000"]),
        (-32, 64, False, ["−20", "0", "20", "40", "60"]),
        (0, 0, True, ["0"]),
    ],
)
def test_ticks_are_round_and_inside(low: float, high: float, whole: bool, wanted: list[str]) -> None:
    assert [svg.label(tick) for tick in svg.ticks(low, high, whole=whole)] == wanted


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0.5707, 0.614, [0.57, 0.58, 0.59, 0.6, 0.61, 0.62]),
        (-32, 64, [-40, -20, 0, 20, 40, 60, 80]),
        (2, 2, [2, 2.2, 2.4, 2.6, 2.8, 3]),
    ],
)
def test_an_axis_reaches_over_its_values(low: float, high: float, wanted: list[float]) -> None:
    assert svg.around(low, high) == pytest.approx(wanted)


def test_there_are_never_many_ticks() -> None:
    for high in (1e-9, 0.3, 7, 1000, 123_456_789.0):
        assert 2 <= len(svg.ticks(0, high)) <= 7 and 2 <= len(svg.around(-high, high)) <= 9
