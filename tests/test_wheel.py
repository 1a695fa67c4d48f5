"""The package as pip installs it: commands that need no project work in an empty folder, with no clone beside them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.tiny_models import language_model

PARTS = ("nightjar", "stages", "pipelines", "profiles", "dvc.yaml", "pyproject.toml", "README.md", "LICENSE")
TASK = r"""
name: sums
data: sums.jsonl
id: "{{ id }}"
prompt: "{{ question }}\nAnswer:"
references: ["{{ answer }}"]
metric: exact_match
stop: ["\n"]
max_new_tokens: 3
"""
QUESTION = {
    "metadata": {"id": "q1"},
    "question": {"original": "Name a fruit.", "normalized": "name a fruit."},
    "answers": {"raw": {"apple": 3}, "clusters": {"q1.0": {"count": 3, "answers": ["apple"]}}},
}
FROM_PYTHON = """
import nightjar
assert "site-packages" in nightjar.__file__
result = nightjar.evaluate(
    "tiny", "protoqa", "protoqa.jsonl", settings={"predict.protoqa.samples": 2, "threads": 1}
)
print(len(result.instances), result.scores.columns.tolist())
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment of its own: the wheel, and the other packages of this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    source, environment = folder / "source", folder / "environment"
    source.mkdir()
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    without_network = ["--no-deps", "--no-index"]
    build = [*pip, "wheel", *without_network, "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(build, check=True)
    (wheel,) = folder.glob("nightjar-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin/python"
    subprocess.run([*pip, "--python", str(python), "install", *without_network, str(wheel)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    # Behind the wheel on the path. A path file of that folder, such as that of an editable install, is not read.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    shutil.rmtree(source)
    return python.parent


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model, a task file and a file of published questions, and nothing of a project."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "tiny").mkdir()
    language_model(folder / "tiny")
    (folder / "sums.yaml").write_text(TASK)
    rows = [{"id": f"r{number}", "question": f"{number} + 1?", "answer": number + 1} for number in range(3)]
    (folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "protoqa.jsonl").write_text(json.dumps(QUESTION) + "\n")
    (folder / "lists.jsonl").write_text(json.dumps({"question_id": "q1", "ranked_answers": ["apple"]}) + "\n")
    return folder


def output_of(programs: Path, folder: Path, name: str, *arguments: str) -> str:
    """The standard output of a program of the environment, which must end well."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    command = [str(programs / name), *arguments]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_task_file_is_checked_evaluated_and_compared(programs: Path, empty: Path) -> None:
    assert "0 faults" in output_of(programs, empty, "nightjar", "tasks", "--check", "sums.yaml")
    evaluate = ("evaluate", "--model", "tiny", "--task", "sums.yaml", "--threads", "1", "--output", "runs/a")
    assert "runs/a/data/report/index.html" in output_of(programs, empty, "nightjar", *evaluate)
    assert (empty / "runs/a/data/report/index.html").is_file()
    compare = ("compare", "--benchmark", "sums.yaml", "--a", "runs/a", "--b", "runs/a")
    assert "0 / 0 / 3" in output_of(programs, empty, "nightjar", *compare)


def test_published_files_are_evaluated_from_python(programs: Path, empty: Path) -> None:
    output = output_of(programs, empty, "python", "-c", FROM_PYTHON)
    assert output.startswith("1 ['track', 'level', 'name', 'metric', 'n', 'value'")


def test_predictions_are_scored(programs: Path, empty: Path) -> None:
    files = ("--predictions", "lists.jsonl", "--references", "protoqa.jsonl")
    output = output_of(programs, empty, "nightjar", "score", "--benchmark", "protoqa", *files, "--json")
    assert json.loads(output)["metrics"]["wordnet/max_incorrect@3"] == 1.0


def test_doctor_says_what_works_without_a_project(programs: Path, empty: Path) -> None:
    output = output_of(programs, empty, "nightjar", "doctor")
    assert "project: none in this folder; evaluate with --data or --task, score" in output
