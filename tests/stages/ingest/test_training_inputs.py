"""The corpus made of the training inputs of a split: what enters, what never does, and where it came from."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nightjar.core import tables
from nightjar.core.contracts import DEV, DOCUMENTS, SPLIT_TASKS, TEST, TRAIN
from nightjar.core.errors import NightjarError
from stages.ingest.training_inputs import ingest_training_inputs
from tests.in_process import run_stage
from tests.stages.ingest.test_natural_instructions import digests
from tests.stages.rows import instance

ROOT = Path(__file__).parents[3]
TEST_INPUT, DEV_INPUT = "a test input", "a dev input"


def row(task: str, id: str, text: str, **more: str) -> dict[str, Any]:
    return instance(task, id, text, "SECRET", **more)


def split(path: Path, train: list[dict[str, Any]]) -> Path:
    """A split artifact with these training instances, one test and one dev instance."""
    with tables.ArtifactWriter(path) as writer:
        role = {"track": "default", "task_id": "task1", "role": "train", "reason": "none"}
        writer.write(SPLIT_TASKS, [role])
        writer.write(TRAIN, [])
        for task in sorted({one["task_id"] for one in train}):
            writer.write(TRAIN, [one for one in train if one["task_id"] == task], part=task)
        writer.write(DEV, [row("task8", "d", DEV_INPUT)])
        writer.write(TEST, [row("task9", "t", TEST_INPUT, track="default", category="c")])
    return path


def many(count: int) -> list[dict[str, Any]]:
    return [row(f"task{n % 3}", f"i{n}", f"input {n}") for n in range(count)]


def test_training_inputs_become_documents_once_and_test_inputs_never(tmp_path: Path) -> None:
    train = [
        row("task1", "a", "The bridge is old."),
        row("task1", "b", f" {TEST_INPUT}\n"),
        row("task2", "a", "The bridge is old.\n"),
        row("task2", "c", DEV_INPUT),
        row("task2", "d", "The mill is new."),
    ]
    out = tmp_path / "out"
    statistics = ingest_training_inputs(split(tmp_path / "split", train), out)
    assert [(it["id"], it["text"], it["file"]) for it in tables.read_rows(out, DOCUMENTS)] == [
        ("task1:a", "The bridge is old.", "tasks/task1.json"),
        ("task2:d", "The mill is new.", "tasks/task2.json"),
    ]
    assert {(it["id"], it["reason"].partition(":")[0]) for it in tables.read_rejected(out).to_pylist()} == {
        ("task1:b", "the input of a test instance"),
        ("task2:a", "the same input as another document"),
        ("task2:c", "the input of a dev instance"),
    }
    assert (statistics.rows_in, statistics.rows_out, statistics.rows_rejected) == (5, 2, 3)
    assert statistics.facts()["source"] == "training inputs"
    assert "SECRET" not in str(tables.read(out, DOCUMENTS).to_pylist()), "no reference is among them"


def test_a_bound_is_drawn_by_the_seed_and_a_larger_one_keeps_a_smaller_ones(tmp_path: Path) -> None:
    source = split(tmp_path / "split", many(60))

    def drawn(most: int | None, seed: int = 1) -> list[str]:
        out = tmp_path / f"{most}-{seed}"
        statistics = ingest_training_inputs(source, out, most, seed)
        assert statistics.rows_in == 60 == statistics.rows_out + statistics.rows_rejected
        rejected = Counter(it["reason"] for it in tables.read_rejected(out).to_pylist())
        beyond = {"beyond ingest.corpus.max_inputs": 60 - most} if most else {}
        assert rejected == statistics.reasons == beyond
        return [it["id"] for it in tables.read_rows(out, DOCUMENTS)]

    whole, ten, twenty = drawn(None), drawn(10), drawn(20)
    assert len(whole) == 60 and set(ten) < set(twenty) and len(twenty) == 20
    assert ten == [id for id in whole if id in ten], "in the order of the split"
    assert drawn(10, seed=2) != ten
    again = tmp_path / "again"
    ingest_training_inputs(source, again, 10, 1)
    assert digests(again) == digests(tmp_path / "10-1")


def test_a_split_without_training_instances(tmp_path: Path) -> None:
    with pytest.raises(NightjarError, match="no training instances"):
        ingest_training_inputs(split(tmp_path / "split", []), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_stage_of_the_profile_real(workdir: Path) -> None:
    from pipelines.run import profiles

    shutil.copytree(ROOT / "profiles", workdir / "profiles")
    profiles.apply(workdir, "real", ["ingest.corpus.max_inputs=7", "seed=3"])
    split(workdir / "data/split", many(12))
    done = run_stage("ingest", "corpus")
    assert done.returncode == 0, done.stderr
    facts = json.loads((workdir / "data/metrics/ingest-corpus.json").read_text())
    assert (facts["source"], facts["inputs"], facts["rows_out"]) == ("training inputs", ["data/split"], 7)
    ingest_training_inputs(workdir / "data/split", workdir / "same", 7, 3)
    assert digests(workdir / "same") == digests(workdir / "data/ingest/corpus")
