"""The section Contamination, from an artifact that the stage itself made of a few texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.benchmarks import registry
from nightjar.core import tables
from nightjar.core.contracts import DEV, DOCUMENTS, EVIDENCE, SUPERVISED, TRAIN
from stages.contamination.shared_runs import BenchmarkTexts, build
from stages.report.project import contamination
from tests.questions import question, row_of, write_questions
from tests.stages.report.building import facts
from tests.stages.report.test_stage import OUT, parsed, run
from tests.stages.rows import instance

LONG = "one two | three four five six <b>seven</b>"


@pytest.fixture()
def told(project: Path) -> Path:
    split, corpus, out = Path("made/split"), Path("made/corpus"), Path("data/contamination")
    asked, retrieved = Path("made/questions"), Path("made/retrieved")
    with tables.ArtifactWriter(split) as writer:
        writer.write(TRAIN, [instance("task1_train", "a1", LONG, "yes")])
        writer.write(DEV, [])
        writer.write(SUPERVISED, [])
    about = {"category": "Textual Entailment", "track": "default"}
    texts = {"z1": f"{LONG} eight", "z2": "apart"}
    tests = [instance("task9_test", id, text, "yes", **about) for id, text in texts.items()]
    write_questions(asked, map(question, tests))
    with tables.ArtifactWriter(retrieved) as writer:
        row = {"split": "test", "task_id": "task9_test", "id": "z2", "rank": 1, "text": "Yes."}
        writer.write(EVIDENCE, [row_of(EVIDENCE, **row)])
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
