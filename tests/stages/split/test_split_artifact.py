"""The whole split of an ingested folder: rows, provenance, accounting, and the real data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nightjar.core import tables
from nightjar.core.config import read_yaml
from nightjar.core.contracts import DEV, INSTANCES, SPLIT_TASKS, SUPERVISED, TASKS, TEST, TRAIN, Table
from nightjar.core.errors import NightjarError
from nightjar.core.identity import contents
from nightjar.params.inputs import Split
from stages.ingest.natural_instructions import ingest_natural_instructions
from stages.split.split_artifact import build
from tests.in_process import refused_stage, run_stage
from tests.stages.rows import instance

ALL = Split(
    track="default",
    train_tasks=None,
    train_instances_per_task=None,
    dev_tasks=0,
    dev_instances_per_task=10,
    test_tasks=None,
    test_instances_per_task=100,
    test_choice="first",
    supervised_instances_per_task=0,
    official_lists="use",
)


Texts = Sequence[str] | dict[str, list[str]]
NUMBERED = ["" if n in (3, 7) else f"in {n}" for n in range(150)]


def head(task: str, category: str, source: str, language: str = "English") -> dict[str, Any]:
    empty = ("urls", "domains", "reasoning", "contributors", "instruction_language", "license")
    return {
        "dataset": "natural_instructions",
        "file": f"tasks/{task}.json",
        "task_id": task,
        "definition": ["Do."],
        "categories": [category, "Other"],
        "sources": [source],
        "input_language": [language],
        "output_language": [language],
        "positive_examples": [],
        "negative_examples": [],
        **{name: [] for name in empty},
    }


def ingested(
    path: Path,
    heads: list[dict[str, Any]],
    texts: Texts = NUMBERED,
    same_ids: bool = False,
) -> Path:
    """An ingest artifact; by default the rows with index 3 and 7 of every task were refused."""
    with tables.ArtifactWriter(path) as writer:
        writer.write(TASKS, heads)
        for task in (head["task_id"] for head in heads):
            given = texts[task] if isinstance(texts, dict) else texts
            rows = [
                instance(task, f"{'x' if same_ids else task}-{n}", text, text[:3], index=n)
                for n, text in enumerate(given)
                if text
            ]
            writer.write(INSTANCES, rows, part=task)
    return path


HEADS = [
    head("task001_analogy", "Word Analogy", "a"),
    head("task002_analogy", "Word Analogy", "b"),
    head("task003_titles", "Title Generation", "c"),
    head("task004_german", "Data to Text", "d", "German"),
    head("task010_free", "Misc.", "e"),
    head("task011_shares", "Misc.", "a"),
    head("task012_german", "Misc.", "f", "German"),
    head("task013_free", "Misc.", "g"),
    head("task014_free", "Misc.", "g"),
]


def test_everything(tmp_path: Path) -> None:
    outcome = build(ingested(tmp_path / "in", HEADS), tmp_path / "out", ALL, 42)
    roles = {
        (row["track"], row["task_id"]): row["role"] for row in tables.read_rows(tmp_path / "out", SPLIT_TASKS)
    }
    assert len(roles) == 2 * len(HEADS)
    train = tables.read_rows(tmp_path / "out", TRAIN)
    test = tables.read_rows(tmp_path / "out", TEST)
    assert {row["task_id"] for row in train} == {"task010_free", "task013_free", "task014_free"}
    assert {row["task_id"] for row in train} == {
        t for (track, t), r in roles.items() if (track, r) == ("default", "train")
    }
    assert {(row["track"], row["task_id"], row["category"]) for row in test} == {
        ("default", "task001_analogy", "Word Analogy"),
        ("default", "task002_analogy", "Word Analogy"),
        ("default", "task003_titles", "Title Generation"),
        ("xlingual", "task004_german", "Data to Text"),
    }
    source = {(row["task_id"], row["id"]): row for row in tables.read_rows(tmp_path / "in", INSTANCES)}
    for row in train + test:
        assert {name: row[name] for name in INSTANCES.schema.names} == source[row["task_id"], row["id"]]
    # All of a training task; of a test task what is left of the 100 that the publishers chose.
    assert outcome.rows["train"] == 3 * 148 and outcome.rows["test"] == 4 * 98
    assert max(row["index"] for row in test) == 99
    assert outcome.rows_in == 9 * 148 == outcome.rows.total() + outcome.not_used.total()
    assert outcome.not_used["task excluded"] == 2 * 148
    assert outcome.details["tasks"]["default"] == {"train": 3, "test": 3, "excluded": 3}
    assert outcome.details["tasks"]["xlingual"] == {"train": 4, "test": 1, "excluded": 4}


def test_limits(tmp_path: Path) -> None:
    source = ingested(tmp_path / "in", HEADS)
    limits = {"train_tasks": 2, "train_instances_per_task": 10, "test_tasks": 3, "test_instances_per_task": 5}
    outcome = build(source, tmp_path / "out", ALL.model_copy(update=limits), 42)
    train = tables.read_rows(tmp_path / "out", TRAIN)
    test = tables.read_rows(tmp_path / "out", TEST)
    assert len({row["task_id"] for row in train}) == 2 and outcome.rows["train"] == len(train) == 20
    assert len({row["category"] for row in test}) == 3, "one task of each category before any second"
    assert outcome.rows["test"] == len(test) == 15
    for task in {row["task_id"] for row in test}:
        assert [row["index"] for row in test if row["task_id"] == task] == [0, 1, 2, 4, 5], (
            "the first good ones"
        )
    for task in {row["task_id"] for row in train}:
        chosen = [row["index"] for row in train if row["task_id"] == task]
        assert chosen == sorted(chosen) and chosen != list(range(10))
    assert outcome.rows_in == outcome.rows.total() + outcome.not_used.total()
    assert outcome.not_used["task not chosen"] == 2 * 148
    # The choice within a task does not depend on which other tasks there are.
    ingested(tmp_path / "in2", [*HEADS[:5], head("task020_new", "Misc.", "z")])
    build(tmp_path / "in2", tmp_path / "out2", ALL.model_copy(update={"train_instances_per_task": 10}), 42)
    build(source, tmp_path / "out3", ALL.model_copy(update={"train_instances_per_task": 10}), 42)
    parts = [tables.read_part(tmp_path / out, TRAIN, "task010_free") for out in ("out2", "out3")]
    assert parts[0].equals(parts[1])
    # Another seed chooses others.
    build(source, tmp_path / "out4", ALL.model_copy(update={"train_instances_per_task": 10}), 43)
    assert not tables.read_part(tmp_path / "out4", TRAIN, "task010_free").equals(parts[0])


def test_one_side_may_be_empty(tmp_path: Path) -> None:
    outcome = build(ingested(tmp_path / "in", HEADS[:3]), tmp_path / "out", ALL, 42)
    assert outcome.rows["train"] == 0 and tables.read_rows(tmp_path / "out", TRAIN) == []
    outcome = build(ingested(tmp_path / "in2", HEADS[4:5]), tmp_path / "out2", ALL, 42)
    assert outcome.rows["test"] == 0 and tables.read_rows(tmp_path / "out2", TEST) == []


def test_an_id_on_both_sides(tmp_path: Path) -> None:
    source = ingested(tmp_path / "in", HEADS, same_ids=True)
    with pytest.raises(NightjarError, match="on both sides, training and test"):
        build(source, tmp_path / "out", ALL, 42)
    assert not (tmp_path / "out").exists()
    # Without any test task, the dev side is what training must keep clear of.
    ingested(tmp_path / "in2", [HEADS[4], HEADS[7]], same_ids=True)
    with pytest.raises(NightjarError, match="on both sides, training and test or dev"):
        build(tmp_path / "in2", tmp_path / "out", ALL.model_copy(update={"dev_tasks": 1}), 42)


@pytest.mark.parametrize(
    ("track", "listed"),
    [
        ("default", {"default/train": "task004_german", "xlingual/test": "task004_german"}),
        ("xlingual", {"xlingual/train": "task001_analogy"}),
    ],
)
def test_lists_that_leak_into_the_other_track_are_refused(
    tmp_path: Path, track: str, listed: dict[str, str]
) -> None:
    source = ingested(tmp_path / "in", HEADS)
    for name, task in listed.items():
        file = source / "splits" / f"{name}_tasks.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{task}\n")
    settings = ALL.model_copy(update={"track": track})
    with pytest.raises(NightjarError, match=f"the task '{task}' is on both sides"):
        build(source, tmp_path / "out", settings, 42)
    build(source, tmp_path / "out", settings.model_copy(update={"official_lists": "ignore"}), 42)


def rows_of(path: Path, contract: Table) -> list[dict[str, Any]]:
    return tables.read_rows(path, contract)


def test_the_dev_split(tmp_path: Path) -> None:
    source = ingested(tmp_path / "in", HEADS)
    held = ALL.model_copy(update={"dev_tasks": 1})
    outcome = build(source, tmp_path / "out", held, 42)
    # Of the three training tasks two share a source: the third goes first.
    dev = rows_of(tmp_path / "out", DEV)
    assert {row["task_id"] for row in dev} == {"task010_free"} and len(dev) == 10
    assert {row["task_id"] for row in rows_of(tmp_path / "out", TRAIN)} == {"task013_free", "task014_free"}
    assert outcome.details["dev"] == {"tasks": ["task010_free"]}
    assert outcome.not_used["beyond the limit of dev instances"] == 138
    assert outcome.rows_in == outcome.rows.total() + outcome.not_used.total()
    reasons = {row["task_id"]: row["reason"] for row in rows_of(tmp_path / "out", SPLIT_TASKS)}
    assert reasons["task010_free"].endswith("held out for the dev split") != reasons["task013_free"]
    # A larger dev split keeps the smaller's task.
    both = build(source, tmp_path / "out2", ALL.model_copy(update={"dev_tasks": 2}), 42)
    assert "task010_free" in both.details["dev"]["tasks"]
    # How many tasks train does not change which are held out.
    few = build(source, tmp_path / "out3", held.model_copy(update={"train_tasks": 1}), 42)
    assert few.details["dev"]["tasks"] == ["task010_free"] and few.rows["train"] == 148
    assert few.not_used["task not chosen"] == 148
    with pytest.raises(NightjarError, match="dev_tasks = 3 leaves no task to train on"):
        build(source, tmp_path / "out4", ALL.model_copy(update={"dev_tasks": 3}), 42)
    assert not (tmp_path / "out4").exists()


def test_the_other_track_trains(tmp_path: Path) -> None:
    outcome = build(
        ingested(tmp_path / "in", HEADS), tmp_path / "out", ALL.model_copy(update={"track": "xlingual"}), 42
    )
    train = {row["task_id"] for row in rows_of(tmp_path / "out", TRAIN)}
    assert train == {"task010_free", "task012_german", "task013_free", "task014_free"}
    assert {row["track"] for row in rows_of(tmp_path / "out", TEST)} == {"default", "xlingual"}
    assert outcome.not_used["task excluded"] == 148


def test_the_stage_gives_the_same_bytes_twice(tmp_path: Path) -> None:
    values = read_yaml(Path(__file__).parents[3] / "params.yaml")
    values["split"]["dev_tasks"] = 1
    (tmp_path / "params.yaml").write_text(json.dumps(values))
    assert "no such table" in refused_stage("split", cwd=tmp_path)
    ingested(tmp_path / "data/ingest/natural_instructions", HEADS)
    outputs = (tmp_path / "data/split", tmp_path / "data/metrics")
    assert run_stage("split", cwd=tmp_path).returncode == 0
    first = contents(*outputs)
    command = [sys.executable, "-m", "stages.split"]  # sets have another order in another process
    assert subprocess.run(command, cwd=tmp_path).returncode == 0
    assert contents(*outputs) == first
    facts = json.loads((tmp_path / "data/metrics/split.json").read_text())
    assert facts["rows_in"] == 9 * 148 == facts["rows_out"] + facts["rows_rejected"]
    assert sum(facts["reasons"].values()) == facts["rows_rejected"]
    assert sum(facts["rows"].values()) == facts["rows_out"] and min(facts["rows"].values()) > 0


def test_real_data(real_data: Path, tmp_path: Path) -> None:
    """One real test task and one real training task: their rows are those of the files."""
    names = [
        "task1195_disflqa_disfluent_to_fluent_conversion",
        "task003_mctaco_question_generation_event_duration",
    ]
    values = []
    (tmp_path / "files/tasks").mkdir(parents=True)
    for name in names:
        file = real_data / "natural-instructions/tasks" / f"{name}.json"
        (tmp_path / "files/tasks" / file.name).symlink_to(file)
        values.append(json.loads(file.read_text(encoding="utf-8")))
    ingest_natural_instructions(tmp_path / "files", tmp_path / "in")
    build(tmp_path / "in", tmp_path / "out", ALL, 42)
    assert rows_of(tmp_path / "out", DEV) == rows_of(tmp_path / "out", SUPERVISED) == []
    test, train = tables.read_rows(tmp_path / "out", TEST), tables.read_rows(tmp_path / "out", TRAIN)
    assert [row["id"] for row in test] == [item["id"] for item in values[0]["Instances"][:100]]
    assert [row["id"] for row in train] == [item["id"] for item in values[1]["Instances"]]
