"""The tags of a run."""

from __future__ import annotations

import subprocess
from pathlib import Path

from nightjar.core import paths
from pipelines.project import git


def test_tags_name_the_commit_and_the_profile_where_there_are_any(tmp_path: Path) -> None:
    assert git.tags(tmp_path) == [tmp_path.name]
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one", "--allow-empty"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    known = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert not git.short_commit(tmp_path).endswith("+")
    (tmp_path / paths.PROFILE).parent.mkdir()
    (tmp_path / paths.PROFILE).write_text("sample\n")
    _, commit, profile = git.tags(tmp_path)
    assert known.stdout.startswith(commit.removeprefix("commit ")) and profile == "profile sample"


def test_a_commit_is_marked_where_tracked_files_other_than_dvc_lock_differ(tmp_path: Path) -> None:
    for name in ("dvc.lock", "params.yaml"):
        (tmp_path / name).write_text("one\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "--all"], [*identity, "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    clean = git.short_commit(tmp_path)
    (tmp_path / "dvc.lock").write_text("two\n")
    (tmp_path / "new.txt").write_text("untracked\n")
    assert clean and git.short_commit(tmp_path) == clean
    (tmp_path / "params.yaml").write_text("two\n")
    assert git.short_commit(tmp_path) == f"{clean}+"
