"""What is said of a stage is read from the files that its command runs, and nothing is imported."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipelines.graph import describe, graph
from pipelines.project import places
from tests.conftest import ROOT


def stage(command: str, description: str = "From dvc.yaml", name: str = "a@b") -> graph.Stage:
    return graph.Stage(name, command, description, (), (), (), {}, (), ())


@pytest.fixture()
def project(tmp_path: Path) -> Path:
    (tmp_path / "work" / "inner").mkdir(parents=True)
    (tmp_path / "work" / "__main__.py").write_text('"""The package."""\nraise SystemExit("imported")\n')
    (tmp_path / "work" / "inner" / "tool.py").write_text('"""The module.\n\nMore.\n"""\n')
    (tmp_path / "script.py").write_text("'''The script.'''\n")
    (tmp_path / "broken.py").write_text("def (\n")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python -m work item", "The package."),
        ("cd x && python3 -m work.inner.tool --flag", "The module.\n\nMore."),
        ("python script.py a; python -m work", "The script.\n\nThe package."),
        ("python broken.py", ""),
        ("python -m elsewhere", ""),
        ("python ../outside.py", ""),
        ("echo python -c 'import work'", ""),
    ],
)
def test_the_docstring_of_what_a_command_runs_follows_the_description(
    project: Path, command: str, told: str
) -> None:
    (project.parent / "outside.py").write_text('"""Not of the project."""\n')
    assert describe.stage(project, stage(command)) == "\n\n".join(filter(None, ["From dvc.yaml", told]))


def test_every_stage_of_this_project_says_more_than_dvc_yaml() -> None:
    path = ROOT / "stages" / "train" / "__main__.py"
    told = describe.stage(ROOT, stage("python -m stages.train combined"))
    assert told.startswith("From dvc.yaml\n\n") and describe.docstring(path) in told


def test_tags_name_the_commit_and_the_profile_where_there_are_any(tmp_path: Path) -> None:
    assert describe.tags(tmp_path) == [tmp_path.name]
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one", "--allow-empty"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    known = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert not describe.short_commit(tmp_path).endswith("+")
    (tmp_path / places.PROFILE).parent.mkdir()
    (tmp_path / places.PROFILE).write_text("sample\n")
    _, commit, profile = describe.tags(tmp_path)
    assert known.stdout.startswith(commit.removeprefix("commit ")) and profile == "profile sample"


def test_a_commit_is_marked_where_tracked_files_other_than_dvc_lock_differ(tmp_path: Path) -> None:
    for name in ("dvc.lock", "params.yaml"):
        (tmp_path / name).write_text("one\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "--all"], [*identity, "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    clean = describe.short_commit(tmp_path)
    (tmp_path / "dvc.lock").write_text("two\n")
    (tmp_path / "new.txt").write_text("untracked\n")
    assert clean and describe.short_commit(tmp_path) == clean
    (tmp_path / "params.yaml").write_text("two\n")
    assert describe.short_commit(tmp_path) == f"{clean}+"
