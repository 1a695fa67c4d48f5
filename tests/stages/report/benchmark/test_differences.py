"""Which paired differences are shown, from which side, and what calls and evidence add."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.papers import Papers
from nightjar.benchmarks.sections import Section, Table, Value
from stages.report.benchmark import differences
from stages.report.read.results import Results
from tests.stages.report.building import NAME

CARD = registry.card(NAME)


def row(system: str, baseline: str, value: float = 2.0, **more: Any) -> dict[str, Any]:
    cell = {"track": "default", "level": "overall", "name": "overall", "metric": "rougeL", "n": 30}
    numbers = {"value": value, "low": value - 1, "high": value + 2, "p": 0.01, "significant": True}
    counts = {"better": 5, "worse": 3, "equal": 22}
    return {"system": system, "baseline": baseline, **cell, **numbers, **counts, **more}


def scored(*systems: str) -> Results:
    rows = [
        {"benchmark": NAME, "system": system, "track": "default", "level": "overall", "name": "overall",
         "metric": "rougeL", "n": 30, "value": 50.0 + at, "low": None, "high": None}
        for at, system in enumerate(systems)
    ]  # fmt: skip
    return Results(CARD, rows, {})


def shown(rows: list[dict[str, Any]], models: list[str], others: bool = False) -> list[tuple[str, ...]]:
    found = differences.chosen(scored(*models), rows, models)[others]
    return [(line["system"], line["baseline"], f"{line['value']:+.1f}".replace("-", "−")) for line in found]


def tables(section: Section | None) -> list[Table]:
    return [it for it in (section.blocks if section else ()) if isinstance(it, Table)]


def test_a_difference_is_found_from_both_sides() -> None:
    cell = ("default", "overall", "overall", "rougeL")
    rows = [row("a", "b", track="xlingual", value=9.0), row("a", "b", metric="rouge1"), row("a", "b")]
    assert differences.find(rows, "a", "b", *cell) == rows[2]
    turned = differences.find(rows, "b", "a", *cell)
    assert turned == row("b", "a", -2.0, low=-4.0, high=-1.0, better=3, worse=5)
    assert differences.find(rows, "a", "c", *cell) is None


def test_the_other_side_of_a_difference_of_few_instances_has_no_interval_either() -> None:
    rows = [row("a", "b", low=None, high=None)]
    turned = differences.find(rows, "b", "a", "default", "overall", "overall", "rougeL")
    assert turned and (turned["low"], turned["high"], turned["value"]) == (None, None, -2.0)


def test_systems_are_compared_with_the_untuned_one_and_with_the_control() -> None:
    models = ["untuned", "combined", "tk_instruct", "supervised"]
    rows = [row(system, baseline) for at, system in enumerate(models) for baseline in models[:at]]
    assert shown(rows, models) == [
        ("combined", "untuned", "+2.0"),
        ("tk_instruct", "untuned", "+2.0"),
        ("combined", "tk_instruct", "−2.0"),  # in the table the control is first
        ("supervised", "tk_instruct", "+2.0"),
    ]
    others = shown(rows, models, others=True)
    assert others == [("supervised", "untuned", "+2.0"), ("supervised", "combined", "+2.0")]


def test_without_a_control_all_pairs_of_models_are_shown() -> None:
    models = ["untuned", "plain", "toolformer"]
    rows = [row(system, baseline) for at, system in enumerate(models) for baseline in models[:at]]
    rows.append(row("plain", "copy_input"))
    assert [pair[:2] for pair in shown(rows, models)] == [
        ("plain", "untuned"),
        ("toolformer", "untuned"),
        ("toolformer", "plain"),
    ]
    assert shown(rows, models, others=True) == []


def test_a_card_may_name_the_system_that_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "CARD", CARD.with_capabilities(Papers(system="mine")))
    models = ["untuned", "mine", "tk_instruct", "other"]
    rows = [row(system, baseline) for at, system in enumerate(models) for baseline in models[:at]]
    assert shown(rows, models) == [
        ("mine", "untuned", "+2.0"),
        ("mine", "tk_instruct", "−2.0"),
        ("mine", "other", "−2.0"),
    ]
    assert len(shown(rows, models, others=True)) == 3


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
    found = differences.ablation(scored(*systems), [])
    assert [[row.cells[0] for row in table.rows] for table in tables(found)] == ([wanted] if wanted else [])


def test_what_helps_has_differences_from_the_control_in_any_order() -> None:
    rows = [row("tk_instruct", "combined", -3.0), row("calls_only", "tk_instruct", 1.0, significant=False)]
    (table,) = tables(differences.ablation(scored("combined", "tk_instruct", "calls_only"), rows))
    found = {row.cells[0]: row.cells[3:] for row in table.rows}
    assert found["tk_instruct"] == (None,) * 5
    metric = CARD.metric("rougeL")
    combined, calls = found["combined"], found["calls_only"]
    assert combined[:2] == (Value(metric, 3.0, signed=True, bold=True), "[+1.0, +4.0]")
    assert (calls[0], calls[-1]) == (Value(metric, 1.0, signed=True), "no")
