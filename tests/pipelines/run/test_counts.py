"""How far a stage is, by its own lines."""

from __future__ import annotations

import pytest

from pipelines.run.counts import counted


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("step 5 of 20, loss 1.277", (5, 20)),
        ("1,200 of 4,800 documents", (1200, 4800)),
        ("round 1 of 2: 30 of 40 texts", (30, 40)),
        ("0 of 10", (0, 10)),
        ("10 of 10 done", (10, 10)),
        ("1 of 1 files", None),
        ("12 of 10", None),
        ("version 3.1 of 4", None),
        ("one of many", None),
        ("", None),
    ],
)
def test_what_a_line_says(line: str, count: tuple[int, int] | None) -> None:
    assert counted(line) == count
