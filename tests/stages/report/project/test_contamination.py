"""The section Contamination, from an artifact that the stage itself made of a few texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nightjar.core import tables
from nightjar.core.contracts import DEV, DOCUMENTS, SUPERVISED, TEST, TRAIN
from stages.contamination.build import build
from stages.report.project import contamination
from tests.stages.report.building import facts
from tests.stages.report.test_stage import OUT, parsed, run

LONG = "one two | three four five six <b>seven</b>"


def instance(task: str, id: str, text: str, **more: Any) -> dict[str, Any]:
    row = {"dataset": "d", "file": "f", "task_id": task, "id": id, "index": 0, "outputs": ["yes"]}
    return {**row, "input": text, **more}


@pytest.fixture()
def told(project: Path) -> Path:
    split, corpus, out = Path("made/split"), Path("made/corpus"), Path("data/contamination")
    more = {"track": "default", "category": "Textual Entailment"}
    with tables.ArtifactWriter(split) as writer:
        writer.write(TRAIN, [instance("task1_train", "a1", LONG)])
        writer.write(DEV, [])
        writer.write(SUPERVISED, [])
        rows = [instance("task9_test", "z1", f"{LONG} eight"), instance("task9_test", "z2", "apart")]
        writer.write(TEST, [{**row, **more} for row in rows])
    with tables.ArtifactWriter(corpus) as writer:
        writer.write(DOCUMENTS, [])
    found = build(split, corpus, out, 5)
    facts("contamination", ["data/split", "data/ingest/corpus"], [out.as_posix()], 2, 2, **found)
    return project


def test_shares_tasks_and_examples(told: Path) -> None:
    done = run()
    assert done.returncode == 0, done.stderr
    every = [row for row in parsed("contamination.html").rows if row]
    start = next(at for at, row in enumerate(every) if row[0] == "found in")
    rows = {row[0]: [cell.strip() for cell in row[1:]] for row in every[start : start + 12]}
    assert rows["training instances"] == ["2", "1", "50.0%", "1", "0", "1", "2"]
    assert rows["corpus"] == ["0", "0", "0.0%", "0", "0", "0", "0"]
    assert rows["any of these three"][1:3] == ["1", "50.0%"]
    assert rows["task9_test"] == ["Textual Entailment, English track", "2", "1", "50%"]
    assert rows["task9_test:z1"] == ["input", "75%", "one two three four five", "task1_train:a1 (train)"]
    assert "task9_test:z2" not in rows, "a label that stands elsewhere is no overlap"


def test_without_the_artifact_there_is_no_section(reported: Path) -> None:
    assert "contamination.html" not in parsed().links and not (OUT / "contamination.html").exists()
    assert contamination.context(None, [], str) is None
