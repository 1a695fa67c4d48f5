"""The section Contamination, from an artifact that the stage itself made of a few texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks import registry
from nightjar.core import tables
from nightjar.core.contracts import DEV, DOCUMENTS, EVIDENCE, QUESTIONS, SUPERVISED, TRAIN
from stages.contamination.shared_runs import BenchmarkTexts, build
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
    asked, retrieved = Path("made/questions"), Path("made/retrieved")
    with tables.ArtifactWriter(split) as writer:
        writer.write(TRAIN, [instance("task1_train", "a1", LONG)])
        writer.write(DEV, [])
        writer.write(SUPERVISED, [])
    head = {"benchmark": "supernatinst", "track": "default", "category": "Textual Entailment"}
    rest = {"dataset": "d", "file": "f", "shared": "{}", "day": None, "references": ["yes"]}
    with tables.ArtifactWriter(asked) as writer:
        texts = {"z1": f"{LONG} eight", "z2": "apart"}
        parts = {id: json.dumps({"input": it}) for id, it in texts.items()}
        rows = [{"task_id": "task9_test", "id": id, "parts": it} for id, it in parts.items()]
        writer.write(QUESTIONS, [{**head, **row, **rest} for row in rows])
    with tables.ArtifactWriter(retrieved) as writer:
        row = {"split": "test", "task_id": "task9_test", "id": "z2", "passage": 0, "document_id": "d"}
        writer.write(EVIDENCE, [{**row, "rank": 1, "title": "", "text": "Yes.", "score": 1.0}])
    with tables.ArtifactWriter(corpus) as writer:
        writer.write(DOCUMENTS, [])
    card = registry.load_benchmark("supernatinst")
    found = build([BenchmarkTexts(card, asked, retrieved)], split, corpus, Path("made/index"), out, 5)
    facts("contamination", ["data/split", "data/ingest/corpus"], [out.as_posix()], 2, 2, **found)
    return project


def test_shares_tasks_and_examples(told: Path) -> None:
    done = run()
    assert done.returncode == 0, done.stderr
    every = [row for row in parsed("contamination.html").rows if row]
    title = registry.load_benchmark("supernatinst").title
    sides, parts, passages, by_track, task = [row[1:] for row in every if title in row[:2]]
    assert sides == ["2", "1 (50%)", "0", "0", "0", "1 (50%)", "0"]
    assert parts == ["1 (50%)", "0", "1 (50%)", "2 (100%)"]
    assert passages == ["1", "1", "0", "0", "1 (100%)", "1 (100%)"] and by_track == [
        "English track",
        *passages,
    ]
    assert task == [title, "Textual Entailment, English track", "2", "1", "50%"]
    rows = {row[0]: [cell.strip() for cell in row[1:]] for row in every}
    found = ["75%", "one two three four five", "task1_train:a1 (train)"]
    assert rows["task9_test:z1"] == ["supernatinst", "input", *found]
    assert "task9_test:z2" not in rows, "a label that stands elsewhere is no overlap"


def test_without_the_artifact_there_is_no_section(reported: Path) -> None:
    assert "contamination.html" not in parsed().links and not (OUT / "contamination.html").exists()
    assert contamination.context(None, [], []) == {}
