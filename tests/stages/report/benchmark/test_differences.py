"""Which paired differences are shown, and what calls and evidence add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from nightjar.benchmarks import registry
from stages.report.benchmark import differences
from stages.report.read.benchmark_results import Results
from stages.report.site import row as table_row
from tests.stages.report.building import NAME

BENCHMARK = registry.load_benchmark(NAME)


def row(system: str, baseline: str, value: float = 2.0, **more: Any) -> dict[str, Any]:
    cell = {"track": "default", "level": "overall", "name": "overall", "metric": "rougeL", "n": 30}
    numbers = {"value": value, "low": value - 1, "high": value + 2, "p": 0.01, "significant": True}
    counts = {"better": 5, "worse": 3, "equal": 22}
    return {"system": system, "baseline": baseline, **cell, **numbers, **counts, **more}


def scored(*systems: str, compared: Sequence[dict[str, Any]] = ()) -> Results:
    rows = [
        {"benchmark": NAME, "system": system, "track": "default", "level": "overall", "name": "overall",
         "metric": "rougeL", "n": 30, "value": 50.0 + at, "low": None, "high": None}
        for at, system in enumerate(systems)
    ]  # fmt: skip
    return Results(BENCHMARK, rows, {}, compared)


def test_a_difference_is_found_from_both_sides() -> None:
    rows = [row("a", "b", track="xlingual", value=9.0), row("a", "b", metric="rouge1"), row("a", "b")]

    def find(system: str, baseline: str, *some: dict[str, Any]) -> dict[str, Any] | None:
        results = scored("a", "b", "c", compared=some)
        return results.difference("default", "overall", results.overall("default")[0], system, baseline)

    assert find("a", "b", *rows) == rows[2]
    assert find("b", "a", *rows) == row("b", "a", -2.0, low=-4.0, high=-1.0, better=3, worse=5)
    turned = find("b", "a", row("a", "b", low=None, high=None))
    assert turned and (turned["low"], turned["high"], turned["value"]) == (None, None, -2.0)
    assert find("a", "c", *rows) is None


@pytest.mark.parametrize(
    ("systems", "wanted"),
    [
        (["untuned", "tk_instruct", "combined"], None),
        (["untuned", "combined", "calls_only"], None),
        (["untuned", "tk_instruct", "calls_only"], ["tk_instruct", "calls_only"]),
        (["combined", "evidence_only", "tk_instruct"], ["tk_instruct", "evidence_only", "combined"]),
    ],
)
def test_what_helps_needs_the_control_and_one_of_the_halves(
    systems: list[str], wanted: list[str] | None
) -> None:
    found = differences.ablation(scored(*systems))
    shown = [[table_row(cells, table.columns).cells[0] for cells in table.rows] for table in found]
    assert shown == ([wanted] if wanted else [])
