"""The texts of scores: decimals of their metric, intervals, and the tables of console, Markdown, JSON and CSV."""

from __future__ import annotations

from typing import Any

import pytest

from nightjar.benchmarks import score_table
from nightjar.benchmarks.score_table import ScoreTable


def row(track: str, metric: str, value: float, system: str = "mine", **others: Any) -> dict[str, Any]:
    names = {"benchmark": "tool_use", "system": system, "track": track, "metric": metric}
    ends = {"n": 40, "value": value, "low": value - 5, "high": value + 5}
    return {**names, "level": "overall", "name": "overall", **ends, **others}


FEW: dict[str, Any] = {"n": 8, "low": None, "high": None}
TABLE = ScoreTable(
    [
        row("svamp", "accuracy", 40.25),
        row("svamp", "calls", 3.0),
        row("svamp", "accuracy", 1.0, level="category", name="numbers"),
        row("dateset", "accuracy", 12.5, **FEW),
        row("accuracy", "accuracy", 26.375),
    ]
)


def test_console_and_markdown_have_the_mean_of_tasks_as_a_row() -> None:
    assert TABLE.overall().first_metrics().lines(("track", "metric")) == [
        {"track": "SVAMP", "metric": "accuracy", "n": 40, "score": "40.25 [35.25, 45.25]"},
        {"track": "Dateset", "metric": "accuracy", "n": 8, "score": "12.50 n<20"},
        {"track": "mean of tasks", "metric": "accuracy", "n": 40, "score": "26.38 [21.38, 31.38]"},
    ]
    assert len(TABLE.overall().first_metrics(2).rows) == 4


def test_a_page_has_a_column_a_system() -> None:
    rows = [*TABLE.overall().first_metrics().rows, row("svamp", "accuracy", 50.0, "other")]
    (table,) = ScoreTable(rows).by_system([row("svamp", "accuracy", 41.0)]).values()
    assert table[0] == {
        "track": "SVAMP",
        "metric": "accuracy",
        "mine": "40.3 [35.3, 45.3] n 40, -0.8",
        "other": "50.0 [45.0, 55.0] n 40",
    }
    assert table[2] == {
        "track": "mean of tasks",
        "metric": "accuracy",
        "mine": "26.4 [21.4, 31.4] n 40",
        "other": "",
    }


def test_json_has_an_entry_a_track_and_csv_a_line_a_row() -> None:
    entries = TABLE.overall().entries()
    assert [(it["track"], it["n"]) for it in entries] == [("svamp", 40), ("dateset", 8), ("accuracy", 40)]
    assert entries[0] == {
        "benchmark": "tool_use",
        "track": "svamp",
        "system": "mine",
        "n": 40,
        "accuracy": 40.25,
        "accuracy_low": 35.25,
        "accuracy_high": 45.25,
        "calls": 3.0,
        "calls_low": -2.0,
        "calls_high": 8.0,
    }
    assert entries[1]["accuracy_low"] is None
    lines = TABLE.csv(("track", "metric", "value", "low")).splitlines()
    assert lines[0] == "track,metric,value,low" and lines[4] == "dateset,accuracy,12.5," and len(lines) == 6


@pytest.mark.parametrize(
    ("benchmark", "metric", "text"),
    [
        ("supernatinst", "rougeL", "-2.5 [-3.0, +0.0]"),
        ("protoqa", "wordnet/max_incorrect@3", "-2.450 [-3.000, +0.000]"),
        ("of no package", "rougeL", "-2.5 [-3.0, +0.0]"),
    ],
)
def test_a_difference_has_the_decimals_of_its_metric(benchmark: str, metric: str, text: str) -> None:
    difference = {"benchmark": benchmark, "metric": metric, "value": -2.45, "low": -3.0, "high": 0.0, "n": 30}
    assert score_table.difference_text(difference) == text
    assert score_table.difference_text(difference | {"value": None}) == ""


def test_p_and_intervals_of_few_instances() -> None:
    assert score_table.p_text({"p": 0.03125, "n": 30}) == "0.0313"
    assert score_table.p_text({"p": None, "n": 8}) == "n<20"
    assert score_table.track_title({"benchmark": "of no package", "track": "default"}) == "default"
