"""The tags of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.core import paths
from nightjar.core.errors import NightjarError
from pipelines.project.git import git as run_git
from pipelines.project.git import short_commit, tags
from tests.conftest import git


def test_tags_name_the_commit_and_the_profile_where_there_are_any(tmp_path: Path) -> None:
    assert tags(tmp_path) == [tmp_path.name]
    git(tmp_path, "init", "-q")
    for name in ("dvc.lock", "params.yaml"):
        (tmp_path / name).write_text("one\n")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "-qm", "one")
    clean = short_commit(tmp_path)
    assert clean and git(tmp_path, "rev-parse", "HEAD").startswith(clean)
    (tmp_path / paths.PROFILE).parent.mkdir()
    (tmp_path / paths.PROFILE).write_text("sample\n")
    assert tags(tmp_path)[1:] == [f"commit {clean}", "profile sample"]
    # A commit is marked where tracked files other than dvc.lock differ.
    (tmp_path / "dvc.lock").write_text("two\n")
    (tmp_path / "new.txt").write_text("untracked\n")
    assert short_commit(tmp_path) == clean
    (tmp_path / "params.yaml").write_text("two\n")
    assert short_commit(tmp_path) == f"{clean}+"


def test_a_repository_that_git_does_not_read_names_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NightjarError, match=r"not a git repository .*; run: git init, then commit"):
        run_git(tmp_path, "rev-parse", "HEAD")
    git(tmp_path, "init", "-q")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(NightjarError, match=r"run: git config --global --add safe.directory /"):
        run_git(tmp_path, "rev-parse", "HEAD")
