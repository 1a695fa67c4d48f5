"""Where another system is above the upper bound, a sentence says so, with the paired difference."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

from nightjar.core import contracts, tables
from stages.report import bounds
from stages.report.results import Results
from tests.stages.report.test_stage import OUT, run


def score(
    system: str, value: float, level: str = "overall", name: str = "overall", metric: str = "rougeL"
) -> dict[str, Any]:
    return {"benchmark": "supernatinst", "system": system, "track": "default", "level": level, "name": name,
            "metric": metric, "n": 9, "value": value, "low": value, "high": value}  # fmt: skip


def difference(baseline: str, value: float, low: float, high: float, level: str = "overall", name: str = "overall",
               metric: str = "rougeL") -> dict[str, Any]:  # fmt: skip
    return {"system": "supervised", "baseline": baseline, "track": "default", "level": level, "name": name,
            "metric": metric, "n": 30, "value": value, "low": low, "high": high, "p": 0.5 if high > 0 else 0.03125,
            "moved": high < 0}  # fmt: skip


def both(*scores: tuple[str, float]) -> Results:
    return Results([score(*one, metric=metric) for metric in ("rougeL", "exact_match") for one in scores], {})


def test_a_system_above_the_bound_is_named_with_its_difference() -> None:
    scores = both(("tk_instruct", 62.5), ("combined", 50.0), ("supervised", 60.0))
    compared = [difference("tk_instruct", -2.5, -6.0, 1.0), difference("combined", 10.0, 5.0, 15.0)]
    notes = bounds.context(scores, compared)["bound_notes"]["default"]
    assert notes["headline"][0] == (
        "ROUGE-L: tk_instruct (62.5) is above the upper bound, supervised (60.0): by +2.5 points (−1.0 to +6.0) on the "
        "same instances, p = 0.5; this difference is not seen."
    )
    assert notes["headline"][1].startswith("exact match: tk_instruct (62.5)")
    assert notes["headline"][1].endswith("no paired difference was computed.")


def test_a_difference_that_is_seen_is_said_and_one_without_an_interval() -> None:
    scores = both(("untuned", 70.0), ("supervised", 60.0))
    paired = difference("untuned", -10, -15, -5)
    note = bounds.context(scores, [paired])["bound_notes"]["default"]["headline"][0]
    assert note.endswith(
        "by +10.0 points (+5.0 to +15.0) on the same instances, p = 0.031; this difference is seen."
    )
    few = paired | {"n": 8, "low": None, "high": None, "p": 0.125, "moved": False}
    note = bounds.context(scores, [few])["bound_notes"]["default"]["headline"][0]
    assert note.endswith(
        "by +10.0 points (n = 8, too few) on the same instances, p = 0.12; this difference is not seen."
    )


def test_nothing_is_said_of_a_bound_that_is_highest_or_equal_or_not_there() -> None:
    for scores in (both(("tk_instruct", 60.04), ("supervised", 60.0)), both(("tk_instruct", 60.0))):
        assert bounds.context(scores, [])["bound_notes"]["default"] == {
            "headline": [],
            "categories": [],
            "tasks": "",
        }


def test_categories_and_tasks_have_their_own() -> None:
    rows = [score("tk_instruct", 1), score("supervised", 2)]
    rows += [score("tk_instruct", 1, metric="exact_match"), score("supervised", 2, metric="exact_match")]
    rows += [
        score("tk_instruct", 9, "category", "data_to_text"),
        score("supervised", 4, "category", "data_to_text"),
    ]
    for task, value in (("task1", 9.0), ("task2", 1.0)):
        rows += [score("tk_instruct", value, "task", task), score("supervised", 4.0, "task", task)]
    scores = Results(rows, {"task1": "Data to Text", "task2": "Data to Text"})
    compared = [difference("tk_instruct", -5, -8, -2, "category", "data_to_text")]
    notes = bounds.context(scores, compared)["bound_notes"]["default"]
    assert notes["headline"] == []
    assert notes["categories"] == [
        "Data to text, ROUGE-L: tk_instruct (9.0) is above the upper bound, supervised (4.0): by +5.0 points (+2.0 to "
        "+8.0) on the same instances, p = 0.031; this difference is seen."
    ]
    assert notes["tasks"].startswith("On 1 of 2 tasks another system is above the upper bound")


def test_the_page_says_it_at_the_tables(project: Path) -> None:
    folder = Path("data/evaluate/supernatinst")
    rows = tables.read_rows(folder, contracts.SCORES)
    for row in rows:
        if row["system"] == "supervised" and row["level"] == "overall":
            row["value"] = 1.0
    others = [(table, tables.read_rows(folder, table))
              for table in (contracts.INSTANCE_SCORES, contracts.COMPARISONS, contracts.IMPROVEMENTS)]  # fmt: skip
    with tables.ArtifactWriter(folder) as writer:
        writer.write(contracts.SCORES, rows)
        for table, kept in others:
            writer.write(table, kept)
    assert run().returncode == 0
    for file in ("index.html", "report.md"):
        text = unescape((OUT / file).read_text())
        assert text.count("is above the upper bound, supervised (1.0)") >= 10  # five systems, two metrics
        assert "combined − untuned" in text and "supervised − untuned" not in text
