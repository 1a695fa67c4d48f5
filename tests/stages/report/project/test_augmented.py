"""The augmented corpus on the page: table 2 beside the paper's, what a tool took, and the best and worst calls."""

from __future__ import annotations

from pathlib import Path

from stages.report.project import augmented, sampled_calls
from stages.report.read.facts import Node
from tests.stages.report.project.test_sampled_calls import own, row
from tests.stages.report.test_stage import parsed, text


def tool(name: str, gains: list[float]) -> sampled_calls.SampledTool:
    rows = [row(tool=name, id=str(n), gain=gain) for n, gain in enumerate(gains)]
    return sampled_calls.summarise(name, own(0.5), rows, {})


def node(name: str, **details: object) -> Node:
    return Node(name, (), (), 0, 0, 0, details)


def test_examples_are_those_of_the_facts_beside_the_published() -> None:
    counts = {"calculator": {"0.5": 1200, "2.0": 3}}
    nodes = [node("augment_merge", examples={"corpus": counts, "train": {"thesaurus": {"1.0": 4}}})]
    first, second = augmented.context([tool("calculator", [1.0]), tool("thesaurus", [])], nodes)[
        "example_rows"
    ]
    assert first == ["calculator", 1200, 0, 3, 0, 0, 0, 3680, 994, 138]
    assert second[4:] == [0, 4, 0, None, None, None]
    assert augmented.context([tool("calculator", [1.0])], [])["example_rows"] == []


def test_calls_are_counted_by_result_and_by_what_they_save() -> None:
    (row,) = augmented.context([tool("calculator", [1.0, 0.1, 0.25])], [])["count_rows"]
    assert row == ["calculator", "0.5", 1, 2, 0, 0, 3, 2, 1, 1, 0]


def test_the_best_and_worst_are_of_all_tools() -> None:
    tools = [tool("calculator", [n / 10 for n in range(30)]), tool("calendar", [-1.0, 9.0, 1.05])]
    best, worst = sampled_calls.best_and_worst(tools)
    assert len(best) == len(worst) == sampled_calls.EXTREMES == 20
    assert [(one.tool, one.gain) for one in best[:2]] == [("calendar", 9.0), ("calculator", 2.9)]
    assert [(one.tool, one.gain) for one in worst[:2]] == [("calendar", -1.0), ("calculator", 0.0)]
    assert [one.gain for one in best] == sorted((one.gain for one in best), reverse=True)
    assert best[0].is_kept and not worst[0].is_kept


def test_the_page_has_them(reported: Path) -> None:
    rows = [" | ".join(cell.strip() for cell in row) for row in parsed("calls.html", "training.html").rows]
    assert "calculator | 1,234 | 5 | 0 | 0 | 0 | 0 | 3,680 | 994 | 138" in rows
    told = text("calls.html")
    assert "Calls were merged into 12 of 1,000 documents and 12 of 200 training targets." in told
    assert "toolformer | 12 | 20 | 9.50 | 9.25 | 9.75 | 4" in rows
