"""Counting and showing tool calls."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from nightjar.core import contracts, tables
from nightjar.params.augment import ToolParams
from stages.report.project import sampled_calls


@pytest.mark.parametrize(
    ("result", "after", "expected"),
    [
        ("420", " 420 square metres.", True),
        ("420", " 4200 metres", False),
        ("420", " 1420", False),
        ("42", " 42.5 metres", False),
        ("42", " is 42.", True),
        ("-27", " 27 were left", False),
        ("27", " -27 degrees", False),
        ("1204", " 1,204 people", True),
        ("3.70", " 3.70, all told", True),
        ("0.29", "", False),
        ("Today is Monday, January 30, 2023.", " in January", True),
        ("Today is Monday, January 30, 2023.", " today is a day", False),
        ("Today is Monday, January 30, 2023.", " mondays", False),
        ("", " anything", False),
        ("किताब", " कुतुब की", False),
        ("किताब", " वह किताब है", True),
        ("Ko\u0308ln", " in Köln", True),
    ],
)
def test_occurs(result: str, after: str, expected: bool) -> None:
    assert sampled_calls.occurs(result, after) is expected


def own(threshold: float, price: float = 0.0) -> ToolParams:
    return ToolParams(
        code="x", resource="data/none", sampling_threshold=0.0, positions=1, samples=1, filter_threshold=threshold,
        price=price,
    )  # fmt: skip


def row(**changes: Any) -> dict[str, Any]:
    values = {"tool": "calculator", "source": "train", "task_id": "t1", "id": "i1", "target": 1, "offset": 9}
    values |= {"call": "[Calculator(2 + 2)]", "result": "4", "gain": 0.9, "status": "measured"}
    return {**values, **changes}


def test_thresholds_are_inclusive_and_hold_the_tools_own() -> None:
    rng = random.Random(1)
    gains = [rng.uniform(-1, 3) for _ in range(200)] + [0.5, 0.7, 2.0]
    rows = [row(gain=gain) for gain in gains]
    rows += [row(gain=None, status="malformed", result=None)] * 3
    tool = sampled_calls.summarise("calculator", own(0.7), rows, {})
    assert [step for step, _ in tool.thresholds] == [0.0, 0.25, 0.5, 0.7, 1.0, 2.0]
    for step, count in tool.thresholds:
        assert count == len([gain for gain in gains if gain >= step])
    assert sum(tool.statuses.values()) == 206 and tool.statuses["malformed"] == 3
    assert dict(tool.thresholds)[0.7] == tool.kept_count == tool.echo_count
    assert tool.statuses["below_threshold"] == 203 - tool.kept_count
    dear = sampled_calls.summarise("calculator", own(0.7, price=0.3), rows, {})
    assert dict(dear.thresholds)[1.0] >= dear.kept_count == sum(gain - 0.3 >= 0.7 for gain in gains) > 0


def test_examples_show_the_call_in_its_place() -> None:
    texts = {("train", "t1", "i1", 1): "Two twos 4 or more"}
    other = row(call="[Calculator(2 - 6)]", result="-4", gain=0.6)
    tool = sampled_calls.summarise("calculator", own(0.5), [row(), other, row(gain=0.1)], texts)
    right, wrong = tool.fitting[0], tool.echoes[0]
    assert (right.before, right.call, right.after) == ("Two twos", "[Calculator(2 + 2) → 4]", "4 or more")
    assert (wrong.call, wrong.gain, wrong.where) == ("[Calculator(2 - 6) → -4]", 0.6, "t1, i1")
    assert tool.echo_count == 1


def test_long_texts_are_cut_around_the_call() -> None:
    text = "a " * 200 + "4 " + "b " * 200
    example = sampled_calls.summarise(
        "x", own(0.5), [row(offset=400)], {("train", "t1", "i1", 1): text}
    ).fitting[0]
    assert example.before.startswith("… a") and example.after.startswith("4 b")
    assert len(example.before) + len(example.after) < 200


def test_read_texts(workdir: Path) -> None:
    instance = {"dataset": "d", "file": "f", "task_id": "t1", "id": "i1", "index": 0, "input": "q"}
    with tables.ArtifactWriter(Path("data/split")) as writer:
        rows = [{**instance, "outputs": ["one", " two "]}, {**instance, "id": "i2", "outputs": ["three"]}]
        writer.write(contracts.TRAIN, rows)
    found = sampled_calls.read_texts(Path("data/none"), Path("data/split"), [row()], own(0.5))
    assert found == {("train", "t1", "i1", 0): " one", ("train", "t1", "i1", 1): " two"}
    assert (
        sampled_calls.read_texts(Path("none"), Path("none"), [row(status="malformed", gain=None)], own(0.5))
        == {}
    )
