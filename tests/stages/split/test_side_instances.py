"""What tests and what may train on test tasks, against brute force; and how the real files were ordered."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.contracts import SUPERVISED, TEST
from stages.ingest.natural_instructions import ingest_natural_instructions
from stages.split.choose import choose_published
from stages.split.split_artifact import build
from tests.stages.split.test_split_artifact import ALL, HEADS, head, ingested, rows_of

SMALL = ALL.model_copy(update={"test_instances_per_task": 5, "supervised_instances_per_task": 7})


def with_inputs(path: Path, texts: dict[str, list[str]]) -> Path:
    """An ingest artifact of test tasks whose instances have the given inputs."""
    return ingested(path, [head(task, "Word Analogy", task) for task in texts], texts)


@pytest.mark.parametrize("choice", ["first", "balanced"])
def test_supervised_instances_do_not_test(tmp_path: Path, choice: str) -> None:
    draw = random.Random(1)
    names = ["task001_a", "task002_b", "task003_c"]
    # 90 to 260 instances of 500 different texts, some with blanks around: many stand in several tasks.
    texts = {
        name: [
            f"{draw.choice(['', ' '])}{draw.randrange(500)} x{draw.choice(['', chr(10)])}" for _ in range(n)
        ]
        for name, n in zip(names, (260, 90, 180), strict=True)
    }
    source = with_inputs(tmp_path / "in", texts)
    settings = ALL.model_copy(update={"test_choice": choice, "supervised_instances_per_task": 1000})
    outcome = build(source, tmp_path / "out", settings, 42)
    test, supervised = rows_of(tmp_path / "out", TEST), rows_of(tmp_path / "out", SUPERVISED)
    tested = {row["input"].strip() for row in test}
    ids = {row["id"] for row in test}
    # Exactly the instances that neither test nor have the text of one that does.
    expected = {
        f"{name}-{n}"
        for name, given in texts.items()
        for n, text in enumerate(given)
        if f"{name}-{n}" not in ids and text.strip() not in tested
    }
    assert {row["id"] for row in supervised} == expected and expected
    assert len(test) == 100 + 90 + 100
    assert outcome.not_used["same input as one that tests"] == 260 + 180 - 200 - len(expected) > 0
    assert outcome.rows_in == outcome.rows.total() + outcome.not_used.total() == 530
    # While few candidates test, those that keep clear of all candidates come first; then the others that do not test.
    few = settings.model_copy(update={"test_instances_per_task": 3, "supervised_instances_per_task": 150})
    outcome = build(source, tmp_path / "out2", few, 42)
    test, supervised = rows_of(tmp_path / "out2", TEST), rows_of(tmp_path / "out2", SUPERVISED)
    assert len(test) == 9 and {row["id"] for row in test} < ids
    assert expected < {row["id"] for row in supervised}, "150 is more than there are apart"
    assert not {row["input"].strip() for row in supervised} & {row["input"].strip() for row in test}
    assert Counter(row["task_id"] for row in supervised)["task001_a"] == 150
    assert outcome.rows_in == outcome.rows.total() + outcome.not_used.total() == 530
    fewer = few.model_copy(update={"supervised_instances_per_task": 20})
    build(source, tmp_path / "out3", fewer, 42)
    chosen = rows_of(tmp_path / "out3", SUPERVISED)
    assert {row["id"] for row in chosen if row["task_id"] != "task002_b"} < expected
    assert Counter(row["task_id"] for row in chosen) == dict.fromkeys(names, 20)
    assert {row["id"] for row in chosen} < {row["id"] for row in supervised}


def test_supervised_instances_are_of_the_tasks_that_test(tmp_path: Path) -> None:
    # These inputs are numbered alike in every task: those from the 101st on are none of a candidate.
    source = ingested(tmp_path / "in", HEADS)
    outcome = build(source, tmp_path / "out", SMALL.model_copy(update={"test_tasks": 2}), 42)
    test, supervised = rows_of(tmp_path / "out", TEST), rows_of(tmp_path / "out", SUPERVISED)
    assert {row["task_id"] for row in supervised} == {row["task_id"] for row in test}
    assert len(supervised) == 14 and min(row["index"] for row in supervised) >= 100
    assert outcome.not_used["beyond the limit of supervised instances"] == 2 * (148 - 5 - 7)
    assert outcome.not_used["beyond the limit of test instances"] == 0


def test_the_balanced_choice_goes_by_the_lists(tmp_path: Path) -> None:
    """The published procedure over all listed test tasks, whatever part of them is used."""
    names = ["task001_a", "task002_b", "task003_c"]
    draw = random.Random(2)
    texts = {name: [f"{draw.randrange(9)}.. {n}" for n in range(150)] for name in names}
    source = with_inputs(tmp_path / "in", texts)
    listed = ["task003_c", "task001_a", "task002_b"]
    (source / "splits/default").mkdir(parents=True)
    (source / "splits/default/test_tasks.txt").write_text("\n".join(["task999_absent", *listed]))
    settings = ALL.model_copy(
        update={"test_choice": "balanced", "test_instances_per_task": 30, "test_tasks": 2}
    )
    ignored = settings.model_copy(update={"official_lists": "ignore"})
    for folder, order, given in (("out", listed, settings), ("out2", names, ignored)):
        build(source, tmp_path / folder, given, 42)
        generator = random.Random(123)
        expected = {}
        for name in order:
            rows = choose_published([text[:3] for text in texts[name]], 100, generator)
            expected[name] = [f"{name}-{row}" for row in rows[:30]]
        test = rows_of(tmp_path / folder, TEST)
        assert len({row["task_id"] for row in test}) == 2
        for name in {row["task_id"] for row in test}:
            assert [row["id"] for row in test if row["task_id"] == name] == expected[name]


def test_the_real_files_are_ordered_by_the_balanced_choice(real_data: Path) -> None:
    """How often each first output is taken does not depend on the draws, so the published order must agree."""
    folder = real_data / "natural-instructions"
    names = set((folder / "splits/default/test_tasks.txt").read_text().split())
    checked = 0
    for file in sorted((folder / "tasks").glob("*.json")):
        if file.stem not in names:
            continue
        outputs = [item["output"][0] for item in json.loads(file.read_text(encoding="utf-8"))["Instances"]]
        chosen = choose_published(outputs, 100, random.Random(123))
        ours, theirs = (Counter(taken) for taken in ((outputs[row] for row in chosen), outputs[:100]))
        # Which outputs get one more in the last round goes by the order before the files were reordered.
        assert sorted(ours.values()) == sorted(theirs.values()), file.stem
        checked += 1
    assert checked == 17


def test_the_real_folder(real_data: Path, tmp_path: Path) -> None:
    source = tmp_path / "in"
    ingest_natural_instructions(real_data / "natural-instructions", source)
    settings = ALL.model_copy(update={"supervised_instances_per_task": 1000, "dev_tasks": 10})
    outcome = build(source, tmp_path / "out", settings, 42)
    assert outcome.details["tasks"]["default"] == {"train": 109, "test": 17, "excluded": 30}
    assert outcome.rows_in == 317_910 == outcome.rows.total() + outcome.not_used.total()
    rows: dict[str, list[dict[str, Any]]] = {
        table.name: rows_of(tmp_path / "out", table) for table in (TEST, SUPERVISED)
    }
    texts = {name: {row["input"].strip() for row in given} for name, given in rows.items()}
    assert len(rows["test"]) == 1700 and not texts["test"] & texts["supervised"]
    # Two pairs of test tasks are made from the same texts, which ids alone would not show.
    assert outcome.not_used["same input as one that tests"] == 264
    # Listed nowhere, as their sources are those of test tasks that are absent here (test_disagree.py).
    assert {row["listed"] + "/" + row["rule"] for row in outcome.details["disagreements"]} == {"none/train"}
    assert len(outcome.details["disagreements"]) == 25
