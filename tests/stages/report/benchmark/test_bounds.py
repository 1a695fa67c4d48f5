"""Where another system is above the upper bound, a sentence says so, with the paired difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from stages.report.benchmark import differences
from stages.report.read.results import Results
from tests.stages.report.building import NAME, rewrite
from tests.stages.report.test_stage import run, text

CARD = registry.card(NAME)


def score(
    system: str, value: float, level: str = "overall", name: str = "overall", metric: str = "rougeL"
) -> dict[str, Any]:
    return {"benchmark": "supernatinst", "system": system, "track": "default", "level": level, "name": name,
            "metric": metric, "n": 9, "value": value, "low": value, "high": value}  # fmt: skip


def difference(baseline: str, value: float, low: float, high: float, level: str = "overall", name: str = "overall",
               metric: str = "rougeL") -> dict[str, Any]:  # fmt: skip
    """Supervised minus another system."""
    return {"system": "supervised", "baseline": baseline, "track": "default", "level": level, "name": name,
            "metric": metric, "value": value, "low": low, "high": high, "significant": low > 0 or high < 0, "p": 0.25,
            "n": 9, "better": 1, "worse": 2, "equal": 6}  # fmt: skip


def both(*scores: tuple[str, float]) -> Results:
    return Results(
        CARD, [score(*one, metric=metric) for metric in ("rougeL", "exact_match") for one in scores], {}
    )


def test_a_system_above_the_bound_is_named_with_its_difference() -> None:
    scores = both(("tk_instruct", 62.5), ("combined", 50.0), ("supervised", 60.0))
    compared = [difference("tk_instruct", -2.5, -6.0, 1.0), difference("combined", 10.0, 5.0, 15.0)]
    notes = differences.notes(scores, compared)["default"]
    assert notes["headline"][0] == (
        "ROUGE-L: tk_instruct (62.5) is above the upper bound, supervised (60.0): the paired difference is +2.5 "
        "[−1.0, +6.0], p = 0.2500, not significant."
    )
    assert notes["headline"][1].startswith("exact match: tk_instruct (62.5)")
    assert notes["headline"][1].endswith("no paired difference was computed.")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "+10.0 [+5.0, +15.0], p = 0.2500, significant."),
        ({"low": None, "high": None, "significant": False, "p": None}, "+10.0, n<20."),
    ],
)
def test_a_difference_is_significant_or_of_few_instances(changes: dict[str, Any], words: str) -> None:
    row = difference("untuned", -10, -15, -5) | changes
    notes = differences.notes(both(("untuned", 70.0), ("supervised", 60.0)), [row])["default"]
    assert notes["headline"][0].endswith(f"difference is {words}")


def test_nothing_is_said_of_a_bound_that_is_highest_or_equal_or_not_there() -> None:
    for scores in (both(("tk_instruct", 60.04), ("supervised", 60.0)), both(("tk_instruct", 60.0))):
        notes = differences.notes(scores, [])["default"]
        assert notes == {"headline": [], "categories": [], "tasks": ""}


def test_categories_and_tasks_have_their_own() -> None:
    rows = [score("tk_instruct", 1), score("supervised", 2)]
    rows += [score("tk_instruct", 1, metric="exact_match"), score("supervised", 2, metric="exact_match")]
    for system, value in (("tk_instruct", 9), ("supervised", 4)):
        rows.append(score(system, value, "category", "data_to_text"))
    for task, value in (("task1", 9.0), ("task2", 1.0)):
        rows += [score("tk_instruct", value, "task", task), score("supervised", 4.0, "task", task)]
    scores = Results(CARD, rows, {"task1": "Data to Text", "task2": "Data to Text"})
    compared = [difference("tk_instruct", -5, -8, -2, "category", "data_to_text")]
    notes = differences.notes(scores, compared)["default"]
    assert notes["headline"] == []
    assert notes["categories"] == [
        "Data to text, ROUGE-L: tk_instruct (9.0) is above the upper bound, supervised (4.0): the paired difference is "
        "+5.0 [+2.0, +8.0], p = 0.2500, significant."
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
