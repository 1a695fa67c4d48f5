"""The README's commands for real data: the fetch from a local repository of the same layout, and the first stages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nightjar.core import tables
from nightjar.core.contracts import SPLIT_TASKS
from nightjar.params import load
from pipelines.cli import main
from tests.in_process import captured, run_stage

ROOT = Path(__file__).parents[1]
ADDRESS = "https://github.com/allenai/natural-instructions"
TRAIN, UNLISTED = "task3008_boxes_and_bags_total", "task3013_guest_book_sentiment"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def block(heading: str) -> list[str]:
    """The lines of the first block of commands under a heading of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {heading}\n.*?^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found, heading
    return found[1].splitlines()


@pytest.fixture()
def published(tmp_path: Path, sample: Path) -> Path:
    """A repository with tasks and lists; the train list lacks a task that the rule alone would let train."""
    root = tmp_path / "published"
    (root / "tasks").mkdir(parents=True)
    lists = root / "splits" / "default"
    lists.mkdir(parents=True)
    names = [TRAIN, UNLISTED]
    names += [path.stem for path in (sample / "natural_instructions/tasks").glob("task300[459]*.json")]
    for name in names:
        shutil.copy(sample / "natural_instructions/tasks" / f"{name}.json", root / "tasks")
    (lists / "train_tasks.txt").write_text(f"{TRAIN}\n")
    (lists / "test_tasks.txt").write_text("".join(f"{name}\n" for name in names[2:]))
    (root / "splits/xlingual").mkdir()
    (root / "splits/xlingual/test_tasks.txt").write_text("")
    git(root, "init", "--quiet", ".")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "Publish")
    git(root, "tag", "v2.8")
    git(root, "config", "uploadpack.allowFilter", "true")
    return root


@pytest.fixture()
def project(workdir: Path) -> Path:
    """What the commands need of a clone of the project."""
    root = workdir / "project"
    root.mkdir()
    shutil.copytree(ROOT / "profiles", root / "profiles")
    shutil.copy(ROOT / ".gitignore", root)
    git(root, "init", "--quiet", ".")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "Begin")
    return root


def test_the_commands_for_real_data(published: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    lines = block("Real data")
    assert lines[-1] == "nightjar rebuild"
    fetch, use, _ = (line.split() for line in lines)
    assert fetch[:2] == ["nightjar", "fetch"] and fetch[-1] == "--accept-licence"
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{published.as_uri()}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", ADDRESS)
    assert captured(main, ["fetch", "natural_instructions"]).returncode == 2  # its terms must be accepted
    assert captured(main, ["fetch", "natural_instructions", "--accept-licence"]).returncode == 0
    assert captured(main, use[1:]).returncode == 0
    read = load().ingest
    folders = {dict(read)[name].path for name in ("natural_instructions", *read.more())}
    assert folders == {f"data/fetched/{name}" for name in fetch[2:-1]}
    assert captured(main, [*use[1:], "--set", "split.dev_tasks=0"]).returncode == 0
    done = [run_stage("ingest", "natural_instructions"), run_stage("split")]
    assert [run.returncode for run in done] == [0, 0], done[0].stderr + done[1].stderr
    names = "default test 3, train 1 names"  # of xlingual none
    assert f"published lists in data/fetched/natural_instructions/splits: {names}" in done[0].stderr
    assert f"published lists in data/ingest/natural_instructions/splits: {names}" in done[1].stderr
    roles = {
        row["task_id"]: row["role"]
        for row in tables.read_rows(Path("data/split"), SPLIT_TASKS)
        if row["track"] == "default"
    }
    assert roles.pop(UNLISTED) == "excluded" and roles.pop(TRAIN) == "train"
    assert set(roles.values()) == {"test"}
    facts = json.loads(Path("data/metrics/ingest-natural_instructions.json").read_text())
    assert facts["lists"] == {"default": {"test": 3, "train": 1}, "xlingual": {"test": 0}}


def test_sources_are_papers_that_a_reader_can_find() -> None:
    """No text of the project cites notes by number: they are no part of it."""
    notes = re.compile(r"\bfacts? ?(sheets?\b|[1-9]\b|/)", re.IGNORECASE)
    folders = ("nightjar", "stages", "pipelines", "bench", "tests", "docs", "profiles")
    files = [file for name in folders for file in (ROOT / name).rglob("*.*") if file.suffix in (".py", ".md")]
    files += [ROOT / name for name in ("README.md", "params.yaml", "dvc.yaml")]
    assert [str(file) for file in files if notes.search(file.read_text(encoding="utf-8"))] == []
