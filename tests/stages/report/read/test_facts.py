"""The graph from facts, and facts that are damaged."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from nightjar import params as params_module
from nightjar.core.errors import NightjarError
from pipelines.run import checks as verify
from stages.report.read import facts
from stages.report.read.facts import Node
from tests.in_process import run_stage

ROOT = Path(__file__).parents[4]
PARAMS = params_module.load(ROOT / "params.yaml")


def node(name: str, inputs: list[str], outputs: list[str]) -> Node:
    return Node(name, tuple(inputs), tuple(outputs), 0, 0, 0, {})


def test_edges_follow_folders_but_not_spelling() -> None:
    nodes = [
        node("make", [], ["data/a", "data/metrics/x.json"]),
        node("part", ["data/a/tasks"], ["data/b"]),
        node("whole", ["data"], ["models/m"]),
        node("other", ["data/ab"], ["data/c"]),
    ]
    graph = facts.graph(nodes)
    whole = {(one, "whole") for one in ("make", "part", "other")}
    assert set(graph.edges) == {("make", "part"), *whole} and set(graph) == {node.name for node in nodes}
    assert facts.levels(graph) == {"make": 0, "other": 0, "part": 1, "whole": 2}


def test_facts_of_stages_that_are_no_more_are_left_out(project: Path) -> None:
    metrics = project / "data" / "metrics"
    params = params_module.load()
    index = json.loads((metrics / "index.json").read_text())
    # One writes above what is read today; the others are of items that the parameters do not list.
    removed = ("old", "retrieve", "train@gone", "predict@supernatinst-gone", "augment@gone", "evaluate@gone")
    for stage in removed:
        output = "data/retrieve" if stage == "retrieve" else f"data/{stage}"
        (metrics / f"{stage}.json").write_text(json.dumps(index | {"stage": stage, "outputs": [output]}))
    present = facts.present(facts.read(metrics), params)
    assert {one.name for one in present} & set(removed) == {"old"}
    assert run_stage("report").returncode == 0
    rows = csv.DictReader((project / "data/report/stages.csv").read_text().splitlines())
    shown = {row["stage"] for row in rows}
    assert (
        "old" not in shown and {"evaluate@supernatinst", "index", "base_model"} <= shown and len(shown) == 23
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"stage": "x"}', "not the facts of a stage: rows_in is missing"),
        ('{"stage": ' + "[" * 1000 + "]" * 1000 + "}", "nested too deeply"),
    ],
)
def test_bad_facts(tmp_path: Path, text: str, wanted: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(NightjarError, match=rf"x\.json.*: {wanted}"):
        facts.read(tmp_path)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"rows_in": None}, "rows_in is not a count of rows"),
        ({"rows_out": True}, "rows_out is not a count of rows"),
        ({"inputs": [["a"]]}, "inputs is not a list of paths"),
        ({"tables": {"data/x": {"train": {"rows": "4"}}}}, "tables: 'data/x': 'train' has no count of rows"),
    ],
)
def test_facts_of_another_form(tmp_path: Path, changes: dict[str, Any], wanted: str) -> None:
    good: dict[str, Any] = {"stage": "x", "inputs": [], "outputs": ["a"], "loss": math.nan}
    good |= {"rows_in": 1, "rows_out": 1, "rows_rejected": 0}
    file = tmp_path / "x.json"
    file.write_text(json.dumps(good))
    assert facts.read(tmp_path)[0].outputs == ("a",)
    file.write_text(json.dumps(good | changes))
    with pytest.raises(NightjarError, match=rf"x\.json: not the facts of a stage: {wanted}"):
        facts.read(tmp_path)
    assert verify.read_facts(tmp_path, ["x.json"]) == (None, {"x.json": wanted})
