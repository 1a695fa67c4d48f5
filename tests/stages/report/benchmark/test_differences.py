"""Which paired differences are shown, what calls and evidence add, and what is above the upper bound."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.card import Card
from nightjar.benchmarks.papers import Papers
from nightjar.benchmarks.sections import Section, Table
from stages.report.benchmark import differences
from stages.report.read.results import Results
from tests.stages.report.building import NAME, rewrite
from tests.stages.report.test_stage import run, text

CARD = registry.card(NAME)


def row(system: str, baseline: str, value: float = 2.0, **more: Any) -> dict[str, Any]:
    cell = {"track": "default", "level": "overall", "name": "overall", "metric": "rougeL", "n": 30}
    numbers = {"value": value, "low": value - 1, "high": value + 2, "p": 0.01, "significant": True}
    counts = {"better": 5, "worse": 3, "equal": 22}
    return {"system": system, "baseline": baseline, **cell, **numbers, **counts, **more}


def scored(*systems: str, card: Card = CARD) -> Results:
    rows = [
        {"benchmark": NAME, "system": system, "track": "default", "level": "overall", "name": "overall",
         "metric": "rougeL", "n": 30, "value": 50.0 + at, "low": None, "high": None}
        for at, system in enumerate(systems)
    ]  # fmt: skip
    return Results(card, rows, {})


def tables(section: Section | None) -> list[Table]:
    return [it for it in (section.blocks if section else ()) if isinstance(it, Table)]


def test_a_difference_is_found_from_both_sides() -> None:
    cell = ("default", "overall", "overall", "rougeL")
    rows = [row("a", "b", track="xlingual", value=9.0), row("a", "b", metric="rouge1"), row("a", "b")]
    assert differences.find(rows, "a", "b", *cell) == rows[2]
    turned = differences.find(rows, "b", "a", *cell)
    assert turned == row("b", "a", -2.0, low=-4.0, high=-1.0, better=3, worse=5)
    turned = differences.find([row("a", "b", low=None, high=None)], "b", "a", *cell)
    assert turned and (turned["low"], turned["high"], turned["value"]) == (None, None, -2.0)
    assert differences.find(rows, "a", "c", *cell) is None


SHOWN = [
    # Systems are compared with the untuned one and with the control, which is first in the table.
    (
        "",
        ["untuned", "combined", "tk_instruct", "supervised"],
        ["combined-untuned", "tk_instruct-untuned", "combined-tk_instruct", "supervised-tk_instruct"],
        ["supervised-untuned", "supervised-combined"],
    ),
    # Without a control all pairs of models are shown.
    (
        "",
        ["untuned", "plain", "toolformer"],
        ["plain-untuned", "toolformer-untuned", "toolformer-plain"],
        [],
    ),
    # A card may name the system that is compared.
    (
        "mine",
        ["untuned", "mine", "tk_instruct", "other"],
        ["mine-untuned", "mine-tk_instruct", "mine-other"],
        ["tk_instruct-untuned", "other-untuned", "other-tk_instruct"],
    ),
]


@pytest.mark.parametrize(("own", "models", "first", "others"), SHOWN)
def test_the_pairs_that_are_shown(own: str, models: list[str], first: list[str], others: list[str]) -> None:
    card = CARD.with_capabilities(Papers(system=own)) if own else CARD
    rows = [row(system, baseline) for at, system in enumerate(models) for baseline in models[:at]]
    found = differences.chosen(scored(*models, card=card), [*rows, row(models[1], "copy_input")], models)
    assert [[f"{it['system']}-{it['baseline']}" for it in some] for some in found[:2]] == [first, others]
    place = {system: at for at, system in enumerate(models)}
    for it in (it for some in found[:2] for it in some):
        assert it["value"] == (2 if place[it["system"]] > place[it["baseline"]] else -2), "turned"


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


def score(system: str, value: float, level: str = "overall", name: str = "overall") -> list[dict[str, Any]]:
    """By both metrics of the headline."""
    cell = {"benchmark": NAME, "track": "default", "level": level, "name": name, "n": 9}
    cell |= {"system": system, "value": value, "low": value, "high": value}
    return [cell | {"metric": metric} for metric in ("rougeL", "exact_match")]


def notes(scores: Mapping[str, float], *compared: dict[str, Any]) -> dict[str, Any]:
    """What is said of systems above the upper bound in the default track."""
    rows = [row for system, value in scores.items() for row in score(system, value)]
    found: dict[str, Any] = differences.notes(Results(CARD, rows, {}), list(compared))["default"]
    return found


def test_a_system_above_the_bound_is_named_with_its_difference() -> None:
    scores = {"tk_instruct": 62.5, "combined": 50.0, "supervised": 60.0}
    below = row("supervised", "combined", 10.0)
    rouge, exact = notes(scores, row("supervised", "tk_instruct", -2.5, significant=False), below)["headline"]
    assert rouge == (
        "ROUGE-L: tk_instruct (62.5) is above the upper bound, supervised (60.0): the paired difference is +2.5 "
        "[+0.5, +3.5], p = 0.0100, not significant."
    )
    assert exact.startswith("exact match: tk_instruct (62.5)")
    assert exact.endswith("no paired difference was computed.")
    few = row("supervised", "untuned", -10.0, n=9, low=None, high=None, significant=False, p=None)
    assert notes({"untuned": 70.0, "supervised": 60.0}, few)["headline"][0].endswith("is +10.0, n<20.")


def test_nothing_is_said_of_a_bound_that_is_highest_or_equal_or_not_there() -> None:
    for scores in ({"tk_instruct": 60.04, "supervised": 60.0}, {"tk_instruct": 60.0}):
        assert notes(scores) == {"headline": [], "categories": [], "tasks": ""}


def test_categories_and_tasks_have_their_own() -> None:
    rows = [*score("tk_instruct", 1), *score("supervised", 2)]
    for system, value in (("tk_instruct", 9), ("supervised", 4)):
        rows += score(system, value, "category", "data_to_text")[:1]
    for task, value in (("task1", 9.0), ("task2", 1.0)):
        rows += [*score("tk_instruct", value, "task", task), *score("supervised", 4.0, "task", task)]
    scores = Results(CARD, rows, {"task1": "Data to Text", "task2": "Data to Text"})
    compared = [row("supervised", "tk_instruct", -5.0, level="category", name="data_to_text")]
    notes = differences.notes(scores, compared)["default"]
    assert notes["headline"] == []
    assert notes["categories"] == [
        "Data to text, ROUGE-L: tk_instruct (9.0) is above the upper bound, supervised (4.0): the paired difference is "
        "+5.0 [+3.0, +6.0], p = 0.0100, significant."
    ]
    assert notes["tasks"].startswith("On 1 of 2 tasks another system is above the upper bound")


def test_the_page_says_it_at_the_tables(project: Path) -> None:
    def change(table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for row in rows:
            if table == "scores" and row["system"] == "supervised" and row["level"] == "overall":
                row["value"] = 1.0
        return rows

    rewrite(change)
    assert run().returncode == 0
    told = "is above the upper bound, supervised (1.0)"
    assert text(f"{NAME}.html").count(told) >= 10, "five systems, two metrics"
