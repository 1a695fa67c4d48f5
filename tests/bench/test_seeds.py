"""The table of repetitions: the mean over seeds, and nothing but the value where instances are few."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bench.seeds import SeedsRow, _rows, _with_corrected_p
from nightjar.statistics import Bootstrap
from nightjar.statistics.metric import Metric
from pipelines.run.profiles import values_with
from tests.conftest import ROOT

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
    lines = _with_corrected_p(_rows("all", METRIC, systems, GROUPS, "a", Bootstrap(samples=200)))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[2]: [row[1], *row[3:]] for row in rows}


@pytest.mark.parametrize("n", [6, 19])
def test_few_instances_have_no_interval_and_no_p(n: int) -> None:
    table = cells(n)
    share = 100 * ((n + 1) // 2) / n
    assert table["a"] == [str(n), "2", f"{(100 + share) / 2:.1f} n<20", "", "", ""]
    assert table["b"] == [str(n), "2", f"{share / 2:.1f} n<20", "+50.0 n<20", "n<20", ""]


def test_enough_instances_have_both() -> None:
    table = cells(20)
    assert table["a"][2].startswith("75.0 [") and table["b"][3].startswith("+50.0 [+")
    assert float(table["b"][4]) < 0.05


def test_p_is_corrected_over_the_tasks_of_a_system() -> None:
    """By hand: the smallest of three is multiplied by 3, the next by 2; another system has no part in it."""
    rows = [
        SeedsRow("b", "1", 0.04),
        SeedsRow("c", "1", 0.01),
        SeedsRow("b", "2", 0.01),
        SeedsRow("b", "3", 0.03),
        SeedsRow("a", "1", None),
    ]
    corrected = [line.split("|")[3].strip() for line in _with_corrected_p(rows)]
    assert corrected == ["0.0600", "0.0100", "0.0300", "0.0600", ""]


REPEATED = sorted(
    path.stem for path in (ROOT / "profiles").glob("*.yaml") if "_2:" in path.read_text("utf-8")
)


@pytest.mark.parametrize("profile", REPEATED)
def test_repetitions_differ_in_their_seed_alone(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    values = values_with(Path(), profile, [])
    repetitions = 0
    for group in (values["train"], values["readers"]):
        recipes = group["recipes"]
        for name in recipes:
            if (repetition := re.fullmatch(r"(.+)_\d", name)) and (first := repetition[1]) in recipes:
                assert recipes[name] == recipes[first]
                assert {**group[name], "seed": None} == {**group[first], "seed": None}
                repetitions += 1
    assert repetitions >= 2
