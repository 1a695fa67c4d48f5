"""What must hold between tables: sides that share nothing, ids that exist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightjar.core import checks, tables
from nightjar.core.contracts import (
    DEV,
    EVIDENCE,
    INSTANCE_SCORES,
    LISTED,
    PASSAGES,
    SPLIT_TASKS,
    SUPERVISED,
    TASKS,
    TEST,
    TRAIN,
)
from tests.nightjar.core.test_checks import (
    ASKED,
    ROLES,
    SCORED,
    SPLIT,
    edit,
    facts,
    found,
    only,
    role,
    score,
    task_row,
)

__all__ = ["facts"]  # the fixture


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
    assert checks.check(SCORED) == [], "where the questions are not at hand nothing can be said"


def test_evidence_is_held_against_the_side_it_names(facts: dict[str, Any]) -> None:
    index, retrieved = Path("data/index"), Path("data/retrieve")
    with tables.ArtifactWriter(index) as writer:
        passage = {"document_id": "d", "title": "", "text": "", "start": 0}
        writer.write(PASSAGES, [{**passage, "passage": 0}])
    row = {"rank": 1, "passage": 0, "document_id": "d", "title": "", "text": "", "score": 0.0}
    good = [
        {**row, "split": "train", "task_id": "train1", "id": "train1-0"},
        {**row, "split": "test", "task_id": "test1", "id": "t-0"},
    ]

    def write(*rows: dict[str, Any]) -> list[checks.Finding]:
        with tables.ArtifactWriter(retrieved) as writer:
            writer.write(EVIDENCE, rows)
        return checks.check(retrieved, [SPLIT, ASKED, index])

    assert write(*good) == []
    it = only(write(*good, {**row, "split": "train", "task_id": "test1", "id": "t-0"}))
    assert (it.check, it.count) == ("references", 1) and "split train" in it.what
    it = only(write(*good, {**good[0], "rank": 2, "passage": 7}))
    assert it.rows == ({"passage": 7, "document_id": "d"},)


def test_what_is_referred_to_may_be_broken_too(facts: dict[str, Any]) -> None:
    (ASKED / "questions/test1.parquet").write_bytes(b"PAR1")
    it = only(found(None, SCORED))
    assert it.check == "references" and "cannot be read" in it.what


def test_no_test_side_is_all_right(workdir: Path) -> None:
    with tables.ArtifactWriter(SPLIT) as writer:
        for table in (TRAIN, DEV, TEST, SUPERVISED, SPLIT_TASKS):
            writer.write(table, [])
    assert checks.check(SPLIT) == []
