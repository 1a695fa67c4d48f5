"""The file of ranked lists that is handed in for questions whose answers are not published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightjar.benchmarks.records import read_questions
from pipelines.cli import main
from tests.in_process import captured, run_stage
from tests.nightjar.benchmarks.benchmark_project import write_predictions
from tests.nightjar.benchmarks.protoqa.files import put, row
from tests.nightjar.benchmarks.protoqa.test_stages import ANSWERS, project  # noqa: F401

LISTS = {"q1": ["rain", 'a "b",\nc'], "q2": ["snow"]}


def hidden(id: str) -> dict[str, Any]:
    return {key: value for key, value in row(id).items() if key not in ("answers", "num")}


@pytest.fixture()
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(Path("test.questions.jsonl"), [hidden("q2"), hidden("q1")])
    put(Path("mine.jsonl"), [{id: answers} for id, answers in LISTS.items()])
    return tmp_path


def run(*words: str) -> Any:
    return captured(lambda given: main(given), ["submission", "--benchmark", "protoqa", *words])


ASKED = ("--questions", "test.questions.jsonl")


def test_both_published_forms_are_written_and_checked(here: Path) -> None:
    done = run("--predictions", "mine.jsonl", "--output", "out.jsonl", *ASKED)
    assert done.returncode == 0, done.stderr
    assert "2 predictions, well-formed" in done.stdout and "Hand it in at" in done.stdout
    lines = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert lines == [{"question_id": id, "ranked_answers": LISTS[id]} for id in ("q2", "q1")]
    done = run("--predictions", "out.jsonl", "--output", "out.json")
    assert "The ids were not checked" in done.stdout
    assert json.loads(Path("out.json").read_text()) == LISTS
    for file in ("out.jsonl", "out.json"):
        done = run("--check", file, *ASKED, "--json")
        assert json.loads(done.stdout)["tasks"] == {"protoqa": 2}


@pytest.mark.parametrize(
    ("rows", "words", "reason"),
    [
        ([{"q1": ["rain"]}], ["--output", "out.jsonl", *ASKED], "1 ids are missing, such as 'q2'"),
        (
            [{"q1": ["rain"]}, {"q2": ["snow"]}, {"q3": ["hail"]}],
            ["--output", "out.jsonl", *ASKED],
            "1 ids are redundant, such as 'q3'",
        ),
        ([{"q1": []}], ["--output", "out.jsonl"], "the list of 'q1' is empty"),
        ([{"q1": ["rain"]}, {"q1": ["rain"]}], ["--output", "out.jsonl"], "'q1' occurs twice"),
        ([{"q1": ["rain"]}], ["--output", "out.csv"], "it ends neither in .jsonl nor in .json"),
    ],
)
def test_what_is_refused_is_one_line(here: Path, rows: list[Any], words: list[str], reason: str) -> None:
    put(Path("mine.jsonl"), rows)
    done = run("--predictions", "mine.jsonl", *words)
    assert done.returncode == 2 and reason in done.stderr and done.stderr.count("\n") == 1
    assert not list(here.glob("out*"))


def test_from_the_published_questions_to_the_file(project: Path) -> None:  # noqa: F811
    """The stages ask them, evaluate says that there is nothing to score, and the command writes the file."""
    put(Path("source/dev.crowdsourced.jsonl"), [hidden(f"q{number}") for number in range(3)])
    for stage in ("ingest", "questions"):
        done = run_stage(stage, "protoqa")
        assert done.returncode == 0, done.stderr
    asked = read_questions(Path("data/questions/protoqa"))
    for system, answers in ANSWERS.items():
        write_predictions(system, asked, lambda _, answers=answers: answers)
    assert run_stage("systems").returncode == 0
    done = run_stage("evaluate", "protoqa")
    assert done.returncode == 0, done.stderr
    facts = json.loads(Path("data/metrics/evaluate-protoqa.json").read_text())
    assert "nightjar submission --benchmark protoqa" in json.dumps(facts)
    done = run("--predictions", "data/predict/protoqa/best", "--output", "out.jsonl")
    assert done.returncode == 0 and "3 predictions, well-formed" in done.stdout, done.stderr
    assert "Hand it in at" in done.stdout
    words = ["score", "--benchmark", "protoqa", "--predictions", "out.jsonl"]
    done = captured(lambda given: main(given), words)
    assert done.returncode == 2 and "nothing to score: no question has a reference" in done.stderr
    words = ["score", "--benchmark", "protoqa", "--analysis", "assessments", "--input", "out.jsonl"]
    done = captured(lambda given: main(given), words)
    assert done.returncode == 2 and "nothing to score: no question has a reference" in done.stderr


def test_the_published_questions(real_data: Path, tmp_path: Path) -> None:
    file = real_data / "protoqa/test.questions.jsonl"
    ids = [json.loads(line)["metadata"]["id"] for line in file.read_text().splitlines()]
    put(tmp_path / "mine.jsonl", [{id: ["rain"]} for id in ids])
    words = ("--predictions", str(tmp_path / "mine.jsonl"), "--questions", str(file))
    done = run(*words, "--output", str(tmp_path / "out.jsonl"))
    assert "102 predictions, well-formed" in done.stdout, done.stderr
