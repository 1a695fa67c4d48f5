"""The section Data, from facts written by the test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from stages.report.plots import kinds
from stages.report.project import data
from stages.report.read.facts import Node
from stages.report.site import Site
from tests.stages.report.building import NAME
from tests.stages.report.test_stage import OUT, parsed, run

INGESTED = "natural_instructions"
FACTS = Path(f"data/metrics/ingest-{INGESTED}.json")
SPLIT = Path("data/metrics/split.json")
DOMAINS = [["Web & <b>News</b>", 9, 900], ["Law | Order", 2, 40]]


def collection() -> dict[str, Any]:
    names = ("tasks", "task_types", "languages", "domains", "domains_in_full", "non_english_tasks")
    means = ("definition_words", "positive_examples", "negative_examples", "instances_per_task")
    distributions = {
        "task_types": [[f"Type {n:02}", 40 - n, 1000 * n] for n in range(30)],
        "languages": [["English", 58, 5000], ["German", 2, 165]],
        "domains": DOMAINS,
        "domains_in_full": DOMAINS,
    }
    return {
        **dict(zip(names, (60, 30, 2, 2, 2, 4), strict=True)),
        **dict(zip(means, (33.65, 2.07, 1.08, 1234.5), strict=True)),
        "distributions": distributions,
    }


def put(file: Path, **more: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **more}))


@pytest.fixture()
def told(project: Path) -> Path:
    put(FACTS, collection=collection())
    return project


def test_the_figures_stand_beside_the_published_ones_and_disagreements_of_the_lists(told: Path) -> None:
    reason = "listed as train; it has <the> category"
    line = {"track": "default", "task_id": "task900_x", "listed": "train", "rule": "test", "reason": reason}
    put(SPLIT, lists={"default": {}}, disagreements=[line])
    assert run().returncode == 0
    assert ["task900_x", "English track", "train", "test", reason] in parsed().rows
    rows = {row[0]: row[1:] for row in parsed("data.html").rows if row}
    assert rows["tasks"] == ["60", "1,616"] and rows["non-English tasks"] == ["4", "576"]
    assert rows["instances of a task, mean"] == ["1,234.5", "3,106.0"]
    assert rows["words of a definition, mean"] in (["33.6", "56.6"], ["33.7", "56.6"])
    assert rows["Type 29"] == ["11", "29,000"] and "Law | Order" not in rows, "no table of what a plot has"
    domains = (OUT / "data-natural_instructions-domains.csv").read_text().splitlines()
    assert domains[1:] == ["Web & <b>News</b>,9,900", "Law | Order,2,40"]
    assert "data-natural_instructions-domains.svg" in parsed("data.html").links


def test_long_tails_are_folded_and_nothing_is_lost() -> None:
    counts = collection()["distributions"]["task_types"]
    folded = data.fold(counts)
    assert len(folded) == data.BARS + 1 and folded[-1][0] == "other, 16 values"
    for at in (1, 2):
        assert sum(bar[at] for bar in folded) == sum(count[at] for count in counts)
    assert [bar[0] for bar in data.fold(counts[:15])] == [count[0] for count in counts[:15]]
    assert data.fold([]) == []


def test_bars_are_as_long_as_their_counts() -> None:
    plot = kinds.bars("x", "x", [("a", 40, 100), ("b", 10, 100), ("c", 0, 25)])
    ends = [[mark.x[1] for mark in panel.marks] for panel in plot.panels]
    assert ends == [[40, 10, 0], [100, 100, 25]]


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"lists": {"default": {}, "xlingual": {}}, "disagreements": []}, "They agree on every task"),
        ({"lists": {}, "disagreements": []}, "The split was made by the rule"),
        ({}, "The split was made by the rule"),
    ],
)
def test_without_disagreements(facts: dict[str, Any], sentence: str) -> None:
    nodes = [Node("split", (), (), 0, 0, 0, facts)]
    nodes.append(Node(f"ingest@{INGESTED}", (), (), 0, 0, 0, {"collection": collection()}))
    site = Site()
    site.page("data.html", "Data", data.context(nodes, [registry.load_benchmark(NAME)], str))
    assert sentence in site.files["data.html"]


def test_no_data_no_section(reported: Path) -> None:
    assert "data.html" not in parsed().links and not (OUT / "data.html").exists()
    assert data.context([Node("split", (), (), 0, 0, 0, {})], [registry.load_benchmark(NAME)], str) == {}
