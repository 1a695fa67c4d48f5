"""One rule for what counts as seen."""

from __future__ import annotations

import pytest

from nightjar.statistics.statistic import MINIMUM, enough, significant, too_few


@pytest.mark.parametrize(
    ("p", "n", "confidence", "expected"),
    [
        (0.05, 20, 0.95, True),
        (0.01, 20, 0.99, True),
        (0.1, 20, 0.9, True),
        (0.0501, 20_000, 0.95, False),
        (0.0001, 19, 0.95, False),
        (0.125, 8, 0.95, False),
        (1.0, 100, 0.95, False),
        (None, 19, 0.95, False),
    ],
)
def test_significant(p: float | None, n: int, confidence: float, expected: bool) -> None:
    assert significant(p, n, confidence) is expected


def test_few() -> None:
    assert not enough(MINIMUM - 1) and enough(MINIMUM)
    assert too_few(8) == too_few(MINIMUM - 1) == "n<20"
