"""The tags of a run."""

from __future__ import annotations

from pathlib import Path

from nightjar.core import paths
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
