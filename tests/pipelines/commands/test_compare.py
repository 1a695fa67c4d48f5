"""The command compare --against: the workspace against a revision in DVC's cache, and against a folder."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from nightjar.core.contracts import INSTANCE_SCORES, PREDICTIONS
from nightjar.core.tables import ArtifactWriter
from pipelines.commands import compare
from tests.conftest import git
from tests.in_process import refused
from tests.pipelines.conftest import Repo
from tests.questions import question, row_of, write_questions

BENCHMARK, SYSTEM, N = "supernatinst", "combined", 40
GRAPH = """
stages:
  made:
    cmd: "true"
    outs: [data/questions/supernatinst, data/evaluate/supernatinst, data/predict/supernatinst/combined]
"""


def write(root: Path, right: int, n: int = N) -> None:
    """A system that answers `right` of `n` questions right."""
    folder = root / "data"
    keys = [{"task_id": "t", "id": f"q{number:02}", "benchmark": BENCHMARK} for number in range(n)]
    write_questions(
        folder / "questions" / BENCHMARK,
        [
            question(key | {"input": f"Question {number}", "outputs": ["yes"]})
            for number, key in enumerate(keys)
        ],
    )
    made = {"system": SYSTEM, "track": "default", "category": "c"}
    answers = ["yes" if number < right else "no" for number in range(n)]
    predictions = [
        row_of(PREDICTIONS, **key, **made, answers=[answer])
        for key, answer in zip(keys, answers, strict=True)
    ]
    scores = [
        row_of(INSTANCE_SCORES, **key, **made, part=metric, unscaled=float(answer == "yes"))
        for key, answer in zip(keys, answers, strict=True)
        for metric in ("exact_match", "rougeL", "rouge1")
    ]
    with ArtifactWriter(folder / "evaluate" / BENCHMARK) as writer:
        writer.write(INSTANCE_SCORES, scores)
    with ArtifactWriter(folder / "predict" / BENCHMARK / SYSTEM) as writer:
        writer.write(PREDICTIONS, predictions)


@pytest.fixture()
def moved(repo: Repo) -> Repo:
    """A repository whose HEAD has 12 right answers, and its workspace 36."""
    repo.write(dvc=GRAPH)
    write(repo.root, 12)
    repo.dvc("commit", "--force", "--quiet")
    git(repo.root, "add", "-A")
    git(repo.root, "commit", "-qm", "v1")
    write(repo.root, 36)
    return repo


def test_against_a_revision_and_a_folder(moved: Repo, tmp_path: Path) -> None:
    done = moved.here("compare", "--against", "HEAD", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    row = next(row for row in found["numbers"] if row["metric"] == "exact_match")
    assert (row["now"], row["before"], row["value"], row["verdict"]) == (90.0, 30.0, 60.0, "better")
    assert (row["better"], row["worse"], row["equal"]) == (24, 0, 16)
    (answers,) = found["answers"]
    assert (answers["n"], answers["changed"]) == (N, 24)
    page = moved.root / ".nightjar/against/index.html"
    assert "Compared with HEAD" in page.read_text() and "Question 12" in page.read_text()

    shutil.copytree(moved.root / "data", tmp_path / "other/data")
    for folder in (tmp_path / "other", tmp_path / "other/data"):
        done = moved.here("compare", "--against", str(folder), "--output", "here")
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [
            "2 numbers: 2 unchanged", "0 of 40 answers changed", "The comparison: here/index.html",
        ]  # fmt: skip
    assert json.loads((moved.root / "here/comparison.json").read_text())["numbers"]

    done = moved.here("compare", "--against", "HEAD")
    lines = done.stdout.splitlines()
    (line,) = [line for line in lines if "exact match" in line]
    assert "+60.0" in line and line.rstrip().endswith("better")
    assert lines[-3:-1] == ["2 numbers: 2 better", "24 of 40 answers changed"]


def test_the_csv_has_the_numbers_of_the_json(moved: Repo) -> None:
    numbers = json.loads(moved.here("compare", "--against", "HEAD", "--json").stdout)["numbers"]
    rows = list(csv.DictReader(moved.here("compare", "--against", "HEAD", "--csv").stdout.splitlines()))
    assert rows == [{key: "" if it is None else str(it) for key, it in row.items()} for row in numbers]


def test_options_of_other_uses_are_refused(moved: Repo) -> None:
    error = refused("compare", "--against", "HEAD", "--samples", "7", cwd=moved.root)
    assert "--samples: it does not go with --against" in error


def test_the_earlier_name_of_the_command_says_the_new_one(moved: Repo) -> None:
    done = moved.here("report", "--against", "HEAD")
    assert done.returncode == 0 and "24 of 40 answers changed" in done.stdout
    assert done.stderr == (
        "nightjar: `nightjar report` is now `nightjar compare --against`; it works for one release\n"
    )


@pytest.mark.parametrize("against", ["elsewhere", "HEAD~9"])
def test_wrong_input_is_one_line(repo: Repo, against: str) -> None:
    assert against in refused("compare", "--against", against, cwd=repo.root)
    assert not (repo.root / ".nightjar/against").exists()


def test_the_reasons_of_what_is_not_comparable_are_counted(moved: Repo, tmp_path: Path) -> None:
    shutil.copytree(moved.root / "data", tmp_path / "other/data")
    write(tmp_path / "other", 12, n=6)
    done = moved.here("compare", "--against", str(tmp_path / "other"))
    assert done.stdout.splitlines()[:2] == [
        "2 numbers: 2 not comparable",
        "  not comparable:    2  other instances",
    ]


def test_a_revision_without_an_evaluation_is_one_line(moved: Repo) -> None:
    shutil.rmtree(moved.root / ".dvc/cache")
    assert "dvc fetch" in refused("compare", "--against", "HEAD", cwd=moved.root)


def test_a_mean_of_tasks_counts_no_instances() -> None:
    cell = {
        "a": 35.0,
        "b": 0.0,
        "value": 35.0,
        "low": 26.0,
        "high": 45.0,
        "p": 0.001,
        "n": 200,
        "significant": True,
    }
    line = compare._line("tool_use", "accuracy", cell | dict.fromkeys(("better", "worse", "equal")))
    assert line["better / worse / equal"] == "–"
