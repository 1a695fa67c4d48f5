"""The table of repetitions: the mean over seeds, and nothing but the value where instances are few."""

from __future__ import annotations

import numpy as np
import pytest

from bench.seeds import _rows
from nightjar.statistics import Bootstrap
from nightjar.statistics.metric import Metric

METRIC = Metric("accuracy", "accuracy", scale=100)
GROUPS = {"a": ["a", "a_1"], "b": ["b", "b_1"]}


def cells(n: int) -> dict[str, list[str]]:
    """The cells of each system behind its name; `a` is right twice as often as `b`."""
    right = np.arange(n) % 2 == 0
    systems = {
        "a": np.ones((n, 1)),
        "a_1": right[:, None] * 1.0,
        "b": right[:, None] * 1.0,
        "b_1": np.zeros((n, 1)),
    }
    lines = _rows("all", METRIC, systems, GROUPS, "a", Bootstrap(samples=200))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[2]: [row[1], *row[3:]] for row in rows}


@pytest.mark.parametrize("n", [6, 19])
def test_few_instances_have_no_interval_and_no_p(n: int) -> None:
    table = cells(n)
    share = 100 * ((n + 1) // 2) / n
    assert table["a"] == [str(n), "2", f"{(100 + share) / 2:.1f} n<20", "", ""]
    assert table["b"] == [str(n), "2", f"{share / 2:.1f} n<20", "+50.0 n<20", "n<20"]


def test_enough_instances_have_both() -> None:
    table = cells(20)
    assert table["a"][2].startswith("75.0 [") and table["b"][3].startswith("+50.0 [+")
    assert float(table["b"][4]) < 0.05
