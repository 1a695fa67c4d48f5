"""What `nightjar ingest` prints of tasks and of documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.cli import main
from pipelines.commands_data import duration
from tests.stages.in_process import captured


def ingest(dataset: str, source: Path, output: Path) -> list[str]:
    words = ["ingest", "--dataset", dataset, "--input", str(source), "--output", str(output)]
    done = captured(main, words)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_corpus_has_documents_and_no_tasks(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"text": "One."}), json.dumps({"text": "Two."}), json.dumps({"text": " "}), "{"]
    (tmp_path / "in" / "documents.jsonl").write_text("\n".join(lines))
    told = ingest("corpus", tmp_path / "in", tmp_path / "out")
    assert told[:6] == [
        "source: files",
        "files: 1, 0 of them rejected",
        "documents: 2",
        "rejected: 2",
        "  not JSON: 1",
        "  text is blank: 1",
    ]
    assert not [line for line in told if line.startswith(("tasks", "instances", "lists"))]


def test_tasks_have_instances_and_lists(tmp_path: Path, sample: Path) -> None:
    told = ingest("natural_instructions", sample / "natural_instructions", tmp_path / "out")
    assert told[:5] == [
        "files: 60, 0 of them rejected",
        "tasks: 60",
        "instances: 5,165",
        "rejected: 0",
        "published lists: none",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00 s"),
        (0.01555, "0.02 s"),
        (9.999, "10.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (3725, "62 min 5 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
