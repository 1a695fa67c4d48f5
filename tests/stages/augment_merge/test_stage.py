"""The stage on a small project: what is written, refused and counted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from nightjar.core import contracts, tables
from stages._runtime.held_out import held_out
from tests.conftest import ROOT
from tests.in_process import run_stage
from tests.stages.augment_merge.test_merge import row
from tests.stages.rows import instance, write_documents

OUT = Path("data/augment_merge")


def candidate(**values: Any) -> dict[str, Any]:
    names = ("loss_no_call", "loss_call_without_result", "loss_call_with_result")
    losses = dict.fromkeys(names, None if values.get("gain", 1.0) is None else 1.0)
    return row(token=values.get("offset", 5), **losses) | values


def configure(**changes: Any) -> None:
    values = yaml.safe_load(Path("params.yaml").read_text())
    values["augment"] |= changes
    Path("params.yaml").write_text(yaml.safe_dump(values))


@pytest.fixture()
def project(workdir: Path) -> Path:
    shutil.copy(ROOT / "params.yaml", "params.yaml")
    tools = yaml.safe_load(Path("params.yaml").read_text())["augment"]["tools"]
    tools = {name: tools[name] for name in ("calculator", "calendar")}
    tools["calendar"]["filter_threshold"] = 1.0
    configure(tools=tools, held_out_documents=2)
    texts = [f"text number {n}" for n in range(8)] + ["It is [Calendar()] today", "more of [Calendar()]"]
    write_documents(Path("data/ingest/corpus"), [f" {text}\n" for text in texts])
    with tables.ArtifactWriter(Path("data/split")) as writer:
        writer.write(contracts.TRAIN, [instance("t", "i", "1 + 1", "it is two", "2 ")])
    # Stage augment samples no calls for documents that are held out.
    held = held_out([f"d{n}" for n in range(10)], 2, 42)
    named = [n for n in range(9) if f"d{n}" not in held]
    kept = [candidate(id=f"d{n}", gain=0.6 + n / 5, offset=5) for n in named]
    kept.append(candidate(source="train", task_id="t", id="i", target=1, offset=0))
    below = candidate(id="d3", offset=9, gain=0.2)
    with tables.ArtifactWriter(Path("data/augment/calculator")) as writer:
        none = candidate(id="d1", call="Calc", result=None, gain=None, status="malformed")
        writer.write(contracts.CANDIDATES, [*kept, below, none])
    with tables.ArtifactWriter(Path("data/augment/calendar")) as writer:
        call = {"tool": "calendar", "call": "[Calendar()]", "result": "Today is Monday, January 30, 2023."}
        other = candidate(**call, id="d3", offset=5, gain=1.25)
        small = candidate(**call, id="d3", offset=9, gain=0.9)
        writer.write(contracts.CANDIDATES, [other, small])
    return workdir


def test_rows_in_are_rows_out_and_rejected_with_reasons(project: Path) -> None:
    done = run_stage("augment_merge")
    assert done.returncode == 0, done.stderr
    facts = json.loads(Path("data/metrics/augment_merge.json").read_text())
    held = held_out([f"d{n}" for n in range(10)], 2, 42)
    merged = tables.read_rows(OUT, contracts.CALLS_MERGED)
    written = [one["id"] for one in merged if one["source"] == "corpus"]
    assert written == [f"d{n}" for n in range(8) if f"d{n}" not in held]
    assert merged[-1]["text"] == "[Calculator(1 + 1) -> 2] 2" and merged[-1]["original"] == "2"
    # The calendar's gain at the same place is larger.
    third = next(one for one in merged if one["id"] == "d3")
    assert third["tools"] == ["calendar"]
    rejected = tables.read_rejected(OUT).to_pylist()
    reasons = facts["reasons"]
    assert facts["rows_in"] == 9 == facts["rows_out"] + facts["rows_rejected"]
    assert facts["rows_out"] == sum(len(one["tools"]) for one in merged)
    assert len(rejected) == sum(reasons.values()) == facts["rows_rejected"]
    assert reasons["a better call at the same position"] == 1
    own = [one for one in rejected if one["reason"] == "its text contains a call already"]
    assert [one["id"] for one in own] == ["d8"] * ("d8" not in held)
    assert {one["raw"] for one in rejected} <= {"[Calculator(1 + 1) -> 2]"}
    counts = facts["texts"]["corpus"]
    assert counts["texts"] == 10 == counts["with_calls"] + counts["held_out"] + counts["left_out"]
    assert counts["with_own_calls"] == 2
    # A document that has calls of its own is no measure of a text without calls.
    kept = {one["id"] for one in tables.read_rows(OUT, contracts.HELD_OUT)}
    assert kept == held - {"d8", "d9"}


def test_calls_of_a_guarded_tool_have_the_next_word_in_their_result(project: Path) -> None:
    configure(answer_guard=["calculator"])
    assert run_stage("augment_merge").returncode == 0
    merged = tables.read_rows(OUT, contracts.CALLS_MERGED)
    # "text number 0" has no 2; the target "2" has. The calendar is not in the list.
    assert [row["tools"] for row in merged if row["source"] == "train"] == [["calculator"]]
    assert {tool for row in merged if row["source"] == "corpus" for tool in row["tools"]} == {"calendar"}
    facts = json.loads(Path("data/metrics/augment_merge.json").read_text())
    assert facts["reasons"]["the next word of the text is none of its result"] > 1
    assert facts["rows_in"] == facts["rows_out"] + facts["rows_rejected"]


def test_every_threshold_of_table_2_is_counted_from_one_run(project: Path) -> None:
    assert run_stage("augment_merge").returncode == 0
    found = json.loads(Path("data/metrics/augment_merge.json").read_text())["examples"]
    held = held_out([f"d{n}" for n in range(10)], 2, 42)
    gains = {f"d{n}": 0.6 + n / 5 for n in range(8) if f"d{n}" not in held and n != 3}
    counts = {str(t): sum(gain >= t for gain in gains.values()) for t in (0.5, 1.0, 2.0)}
    wanted = {threshold: count for threshold, count in counts.items() if count}
    assert found["corpus"]["calculator"] == wanted
    # One document, whether one or two of its calls reach the threshold.
    assert found["corpus"]["calendar"] == {"0.5": 1, "1.0": 1}
    assert found["train"] == {"calculator": {"0.5": 1, "1.0": 1}}
    # Before the limit of examples.
    configure(examples_per_tool=1)
    assert run_stage("augment_merge").returncode == 0
    facts = json.loads(Path("data/metrics/augment_merge.json").read_text())
    assert facts["reasons"]["beyond the limit of examples of its tool"] and facts["examples"] == found


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        (
            "look_ahead_guard",
            ["translator"],
            "params.yaml: augment.look_ahead_guard: there is no tool 'translator'",
        ),
        ("held_out_documents", 10, "10 documents cannot be held out of 10"),
    ],
)
def test_settings_that_cannot_be_followed_are_told(project: Path, key: str, value: object, told: str) -> None:
    configure(**{key: value})
    done = run_stage("augment_merge")
    assert done.returncode == 2 and told in done.stderr
