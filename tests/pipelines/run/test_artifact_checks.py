"""Artifacts good when written: what somebody did to them since, and what must hold between tables."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightjar.core import artifact_rules, contracts, tables
from nightjar.core.contracts import (
    DEV,
    EVIDENCE,
    INSTANCE_SCORES,
    LISTED,
    SPLIT_TASKS,
    SUPERVISED,
    TASKS,
    TEST,
    TRAIN,
    Table,
)
from nightjar.core.rules import BrokenRule
from pipelines.run.artifact_checks import check_stage
from tests.questions import question, row_of, write_questions
from tests.stages.rows import instance

SPLIT, INGEST, SCORED = Path("data/split"), Path("data/ingest/d"), Path("data/evaluate/b")
ASKED = Path("data/questions/b")


def written(task: str, *ids: str, **more: str) -> list[dict[str, Any]]:
    """Instances of a task with different inputs."""
    return [instance(task, id, f"input of {id}", "o", **more) for id in ids]


def task_row(name: str, source: str) -> dict[str, Any]:
    return row_of(TASKS, dataset="d", file=f"{name}.json", task_id=name, sources=[source])


def role(task: str, role: str, reason: str = "r") -> dict[str, str]:
    return {"track": "default", "task_id": task, "role": role, "reason": reason}


def score(id: str, value: float = 0.5) -> dict[str, Any]:
    row = {"benchmark": "b", "system": "s", "track": "default", "category": "c", "task_id": "test1", "id": id}
    return {**row, "part": "m", "unscaled": value}


TEST_IDS = ("t-0", "t-1", "t-2", "t-3")
ROLES = [role("train1", "train"), role("train2", "train"), role("dev1", "train"), role("test1", "test")]


@pytest.fixture()
def facts(workdir: Path) -> dict[str, Any]:
    """A small split with its tasks and scores, all as it should be; the facts of the split."""
    with tables.ArtifactWriter(INGEST) as writer:
        named = [("train1", "a"), ("train2", "b"), ("dev1", "c"), ("test1", "z")]
        writer.write(TASKS, [task_row(*pair) for pair in named])
    with tables.ArtifactWriter(SPLIT) as writer:
        writer.write(SPLIT_TASKS, ROLES)
        for task in ("train1", "train2"):
            writer.write(TRAIN, written(task, *(f"{task}-{n}" for n in range(3))), part=task)
        writer.write(DEV, written("dev1", "dev1-0"), part="dev1")
        tests = written("test1", *TEST_IDS, track="default", category="c")
        writer.write(TEST, tests, part="test1")
        writer.write(SUPERVISED, written("test1", "s-0"), part="test1")
    write_questions(ASKED, map(question, tests))
    with tables.ArtifactWriter(SCORED) as writer:
        writer.write(INSTANCE_SCORES, [score(id) for id in TEST_IDS])
    return {
        "stage": "split",
        "rows_in": 12,
        "rows_out": 9,
        "rows_rejected": 3,
        "tables": {SPLIT.as_posix(): artifact_rules.inventory(SPLIT)},
    }


def found(facts: Mapping[str, Any] | None = None, path: Path = SPLIT, **more: Any) -> list[BrokenRule]:
    near = [INGEST] if path == SPLIT else [INGEST, SPLIT, ASKED]
    return check_stage([path], near, facts, **more)


def edit(part: str, change: Callable[[list[dict[str, Any]]], Any], table: Table, path: Path = SPLIT) -> None:
    """Rewrite a part behind the back of nightjar.core.tables."""
    file = path / table.name / f"{part}.parquet"
    rows = pq.read_table(file).to_pylist()
    rows = change(rows) or rows
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), file, store_schema=False)


def only(findings: list[BrokenRule]) -> BrokenRule:
    assert len(findings) == 1, [str(it) for it in findings]
    json.dumps(findings[0].as_dict(), allow_nan=False)
    assert "\n" not in str(findings[0])
    return findings[0]


def test_nothing_is_found_where_nothing_was_done(facts: dict[str, Any]) -> None:
    assert found(facts) == []
    assert found(None, SCORED) == []
    assert check_stage([Path("models/x")], [], {"stage": "train", "rows_in": 1, "rows_out": 1}) == []


@pytest.mark.parametrize(
    "damage",
    [lambda whole: whole.replace(b"task_id", b"task_\xe5d"), lambda whole: whole[:-20], lambda whole: b""],
    ids=["a column whose name is not UTF-8", "cut off", "empty"],
)
def test_a_damaged_part(facts: dict[str, Any], damage: Callable[[bytes], bytes]) -> None:
    file = SPLIT / "train/train1.parquet"
    file.write_bytes(damage(file.read_bytes()))
    it = only(found(facts))
    assert (it.check, it.where) == ("readable", "data/split/train") and it.rows[0]["part"] == "train1"


def test_rows_and_tables_that_went_missing(facts: dict[str, Any]) -> None:
    edit("train1", lambda rows: rows[:2], TRAIN)
    it = only(found(facts))
    assert it.check == "accounts" and "5 rows of version 1 on disk, but its stage wrote 6 rows" in it.what
    (SPLIT / "train/train1.parquet").unlink()
    assert "3 rows of version 1 on disk" in only(found(facts)).what
    assert found(None) == [], "without facts nobody can tell"
    for file in (SPLIT / "dev").iterdir():
        file.unlink()
    assert [it.what for it in found(facts) if it.table == "dev"] == [
        "no table on disk, but its stage wrote 1 rows of version 1"
    ]
    (SPLIT / "rejected.parquet").unlink()
    assert {it.check for it in found(facts) if it.table == "rejected"} == {"contract", "accounts"}


def test_facts_that_do_not_add_up(facts: dict[str, Any]) -> None:
    it = only(found({**facts, "rows_out": 8}))
    assert (it.check, it.artifact) == (
        "accounts",
        "split",
    ) and "12 rows in, but 8 out and 3 rejected" in it.what
    inventory = {"data/split": {**facts["tables"]["data/split"], "train": {"rows": 6, "version": 0}}}
    it = only(found({**facts, "tables": inventory}))
    assert it.check == "accounts" and "version 0" in it.what
    gone = only(found({**facts, "tables": {"data/none": {}}, "outputs": ["data/none"]}, Path("data/none")))
    assert gone.check == "present"


def test_nulls_where_none_may_be(facts: dict[str, Any]) -> None:
    file = SPLIT / "train/train1.parquet"
    table = pq.read_table(file)
    ids = pa.array(["x", None, None])
    pq.write_table(table.set_column(table.schema.names.index("id"), "id", ids), file)
    it = only(found())
    assert it.check == "schema" and it.what.endswith("with id: string; without id: string not null")


def test_another_schema(facts: dict[str, Any]) -> None:
    for part in ("train1", "train2"):
        file = SPLIT / f"train/{part}.parquet"
        table = pq.read_table(file)
        pq.write_table(table.append_column("more", pa.nulls(3)).drop_columns(["file"]), file)
    it = only(found())
    assert it.check == "schema" and "with more: null; without file: string not null" in it.what
    assert [row["part"] for row in it.rows] == ["train1", "train2"]
    file = SPLIT / "dev/dev1.parquet"
    table = pq.read_table(file)
    pq.write_table(table.set_column(4, "index", pa.array([0], pa.int64())), file)
    assert "with index: int64" in next(it.what for it in found() if it.table == "dev")


def test_a_folder_that_no_contract_knows(facts: dict[str, Any]) -> None:
    (SPLIT / "odd").mkdir()
    pq.write_table(pa.table({"a": [1]}), SPLIT / "odd/part-0.parquet")
    assert (only(found()).check, only(found()).table) == ("contract", "odd")


def test_values_out_of_range_and_not_allowed(facts: dict[str, Any]) -> None:
    edit("part-0", lambda rows: [rows[0], {**rows[1], "unscaled": float("inf")}, {**rows[2], "unscaled": float("nan")}],
         INSTANCE_SCORES, SCORED)  # fmt: skip
    it = only(found(None, SCORED))
    assert (it.check, it.count) == ("range", 2) and it.what.startswith("unscaled is not within")
    assert [(row["id"], row["unscaled"]) for row in it.rows] == [("t-1", "inf"), ("t-2", "nan")]
    edit("part-0", lambda rows: [{**rows[0], "role": "spectator"}, *rows[1:]], SPLIT_TASKS)
    it = only(found())
    assert (it.check, it.count) == ("allowed", 1) and it.rows[0]["role"] == "spectator"


def test_one_key_twice(facts: dict[str, Any]) -> None:
    edit("train1", lambda rows: [*rows, rows[0]], TRAIN)
    it = only(found())
    assert it.check == "keys" and it.rows == ({"task_id": "train1", "id": "train1-0", "times": 2},)
    edit("train1", lambda rows: rows[:3], TRAIN)
    (SPLIT / "train/train9.parquet").write_bytes((SPLIT / "train/train1.parquet").read_bytes())
    it = only(found())
    assert it.rows[0]["parts"] == "train1, train9"


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 3)), max_size=30))
@settings(max_examples=40, deadline=None)
def test_keys_are_counted_as_by_hand(
    tmp_path_factory: pytest.TempPathFactory, keys: list[tuple[str, str, int]]
) -> None:
    path = tmp_path_factory.mktemp("keys")
    (path / "evidence").mkdir()
    row = {"document_id": "d", "title": "", "text": "", "score": 0.0, "passage": 0, "split": "train"}
    rows = [{**row, "task_id": task, "id": id, "rank": rank} for task, id, rank in keys]
    for number, half in enumerate((rows[::2], rows[1::2])):
        table = pa.Table.from_pylist(half, schema=EVIDENCE.schema)
        pq.write_table(table, path / f"evidence/part-{number}.parquet", store_schema=False)
    pq.write_table(contracts.REJECTED.schema.empty_table(), path / "rejected.parquet")
    counted = Counter(keys)
    twice = {key: n for key, n in counted.items() if n > 1}
    findings = artifact_rules.check(path)
    assert sum(it.count for it in findings) == sum(twice.values()) - len(twice)
    assert {it.check for it in findings} == ({"keys"} if twice else set())
    shown = {(it["task_id"], it["id"], it["rank"]): it["times"] for found in findings for it in found.rows}
    assert shown.items() <= twice.items() and len(shown) == min(10, len(twice))


def test_a_part_that_is_no_ordinary_file_is_found_and_not_read(facts: dict[str, Any]) -> None:
    for name in ("train/train1.parquet", "rejected.parquet"):
        file = SPLIT / name
        whole = file.read_bytes()
        for make, what in (
            (os.mkfifo, "a named pipe"),
            (lambda path: path.symlink_to("/dev/zero"), "a character device"),
            (lambda path: path.symlink_to("nowhere"), "a broken link"),
        ):
            file.unlink()
            make(file)
            it = only(found(facts))
            assert (it.check, it.artifact, it.blocks) == ("readable", "data/split", True)
            assert name in it.what and what in it.what
        file.unlink()
        file.write_bytes(whole)
    assert found(facts) == []


@pytest.mark.parametrize(
    ("table", "part", "changes", "check", "what"),
    [
        (TRAIN, "train1", {"id": "t-2"}, "disjoint ids", "rows whose id is in test too"),
        (TRAIN, "train1", {"id": "dev1-0"}, "disjoint ids", "rows whose id is in dev too"),
        (TRAIN, "train1", {"input": " input of t-0\n"}, "disjoint inputs", "rows whose input is in test too"),
        (DEV, "dev1", {"input": "\tinput of t-0"}, "disjoint inputs", "rows whose input is in test too"),
        (
            SUPERVISED,
            "test1",
            {"input": "input of t-3 "},
            "disjoint inputs",
            "rows whose input is in test too",
        ),
        (SUPERVISED, "test1", {"id": "t-3"}, "disjoint instances", "rows whose instance is in test too"),
    ],
)
def test_what_sides_must_not_share(
    facts: dict[str, Any], table: Any, part: str, changes: dict[str, Any], check: str, what: str
) -> None:
    edit(part, lambda rows: [{**rows[0], **changes}, *rows[1:]], table)
    it = only(found())
    assert (it.check, it.what, it.count, it.blocks) == (check, what, 1, True)
    assert changes.items() <= it.rows[0].items()


def test_inputs_shared_with_test_can_be_allowed_and_with_dev_only_tell(facts: dict[str, Any]) -> None:
    edit("train1", lambda rows: [{**row, "input": "input of t-0"} for row in rows], TRAIN)
    assert only(found(shared_inputs=2)).blocks
    it = only(found(shared_inputs=3))
    assert (it.count, it.blocks) == (3, False)
    edit("train1", lambda rows: [{**row, "input": "input of dev1-0"} for row in rows], TRAIN)
    assert not only(found()).blocks
    # Of the supervised side none may be: the split promises it whatever the data.
    edit("test1", lambda rows: [{**rows[0], "input": "input of t-0"}], SUPERVISED)
    assert [it.table for it in found(shared_inputs=100) if it.blocks] == ["supervised"]


def test_a_task_on_two_sides(facts: dict[str, Any]) -> None:
    edit("train1", lambda rows: [{**row, "task_id": "test1"} for row in rows], TRAIN)
    assert [(it.check, it.count) for it in found()] == [("disjoint tasks", 3), ("disjoint sources", 1)]


def test_sources_shared_with_a_test_task(facts: dict[str, Any]) -> None:
    path = Path("data/ingest/d")
    named = [("train1", "z"), ("train2", "b"), ("dev1", "c"), ("test1", "z")]
    with tables.ArtifactWriter(path) as writer:
        writer.write(TASKS, [task_row(*pair) for pair in named])
    it = only(found())
    assert it.check == "disjoint sources"
    assert it.rows == ({"task_id": "train1", "source": "z", "test_task": "test1"},)
    # A published list has the last word.
    listed = role("train1", "train", f"{LISTED}; the rule alone would make it excluded")
    edit("part-0", lambda rows: [listed, *ROLES[1:]], SPLIT_TASKS)
    assert found() == []


def test_ids_that_are_nowhere(facts: dict[str, Any]) -> None:
    with tables.ArtifactWriter(SCORED) as writer:
        writer.write(INSTANCE_SCORES, [score("t-0"), score("gone"), {**score("t-1"), "task_id": "other"}])
    it = only(found(None, SCORED))
    assert (it.check, it.count) == ("references", 2)
    assert sorted(row["id"] for row in it.rows) == ["gone", "t-1"]
    assert artifact_rules.check(SCORED) == [], "where the questions are not at hand nothing can be said"


def test_what_is_referred_to_may_be_broken_too(facts: dict[str, Any]) -> None:
    (ASKED / "questions/test1.parquet").write_bytes(b"PAR1")
    it = only(found(None, SCORED))
    assert it.check == "references" and "cannot be read" in it.what
    (ASKED / "questions/test1.parquet").unlink()
    os.mkfifo(ASKED / "questions/test1.parquet")
    assert "a named pipe" in only(found(None, SCORED)).what


def test_no_test_side_is_all_right(workdir: Path) -> None:
    with tables.ArtifactWriter(SPLIT) as writer:
        for table in (TRAIN, DEV, TEST, SUPERVISED, SPLIT_TASKS):
            writer.write(table, [])
    assert artifact_rules.check(SPLIT) == []
