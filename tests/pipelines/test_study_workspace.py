"""What the points of a study run on: the files and parameters that their names were made from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipelines import study as studies
from pipelines.study_workspace import Ran, Workspace
from stages.errors import NightjarError
from tests.pipelines.conftest import Repo


@pytest.fixture()
def project(study_repo: Repo) -> Repo:
    return study_repo


def name(repo: Repo) -> str:
    return studies.plan(repo.root, "tasks", ["4"]).points[0].name


def test_the_clone_has_what_the_project_had_when_the_study_was_planned(
    project: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project.root
    (root / "more.txt").write_text("more\n")
    subprocess.run(["git", "add", "more.txt"], cwd=root, check=True)
    (root / "made.py").chmod(0o755)
    (root / "notes.txt").unlink()
    (root / "notes.txt").symlink_to("more.txt")
    params = (root / "params.yaml").read_text()
    study = studies.plan(root, "tasks", ["4"])

    # Afterwards everything is edited, taken back or removed.
    (root / "params.yaml").write_text(params.replace("seed: 42", "seed: 43"))
    (root / "made.py").write_text("# another\n")
    (root / "more.txt").unlink()
    subprocess.run(["git", "checkout", "-q", "HEAD", "notes.txt"], cwd=root, check=True)
    seen: list[str] = []

    def look(self: Workspace, *_: object) -> Ran:
        seen.append((self.path / "params.yaml").read_text())
        assert (self.path / "more.txt").read_text() == "more\n"
        assert (self.path / "notes.txt").readlink() == Path("more.txt")
        assert (self.path / "made.py").stat().st_mode & 0o111
        assert "# another" not in (self.path / "made.py").read_text()
        return Ran(1, 0.0, {}, "seen")

    monkeypatch.setattr(Workspace, "_dvc", look)
    assert studies.run(root, study, lambda _: None)["4"].startswith("seen (see ")
    assert seen == [params.replace("train_tasks: null", "train_tasks: 4")]


def test_an_input_that_git_ignores_is_part_of_the_name(project: Repo) -> None:
    raw = project.root / "data/raw/tasks.txt"
    first = name(project)
    raw.write_text("edited\n")
    edited = name(project)
    assert edited != first
    (project.root / "data/raw/more.txt").write_text("more\n")
    assert name(project) not in (first, edited)
    (project.root / "data/raw/more.txt").unlink()
    raw.write_text("raw\n")
    assert name(project) == first
    # What stages make, and what the points do not read, is not.
    (project.root / "data/unread.txt").write_text("unread\n")
    assert name(project) == first
    raw.unlink()
    raw.parent.rmdir()
    with pytest.raises(NightjarError, match="data/raw: an input is missing"):
        name(project)


def test_an_input_outside_the_project_is_part_of_the_name(project: Repo, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("a")
    dvc = (project.root / "dvc.yaml").read_text()
    project.write(dvc=dvc.replace("data/raw]", f"data/raw, {outside}]"))
    first = name(project)
    (outside / "a.txt").write_text("b")
    assert name(project) != first
    project.write(dvc=dvc.replace("data/raw]", "data/raw, ../outside]"))
    with pytest.raises(NightjarError, match="give its absolute path"):
        name(project)


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_point_whose_input_changes_fails_and_is_not_saved(
    project: Repo, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    raw = project.root / "data/raw/tasks.txt"
    study = studies.plan(project.root, "tasks", ["2", "4"])
    ran: list[str] = []

    def dvc(self: Workspace, arguments: list[str], *_: object) -> Ran:
        ran.append(arguments[0])
        raw.write_text("edited\n")
        return Ran(0, 0.0, {})

    monkeypatch.setattr(Workspace, "_dvc", dvc)
    if when == "before":
        raw.write_text("edited\n")
    failed = studies.run(project.root, study, lambda _: None)
    assert ran == ([] if when == "before" else ["repro"])
    assert list(failed) == ["2", "4"]
    assert "data/raw changed since the study was started" in failed["2"]
    assert not studies.saved(project.root, study.start.commit, [point.name for point in study.points])


def test_a_graph_that_git_does_not_know_is_one_line(project: Repo) -> None:
    subprocess.run(["git", "rm", "-q", "--cached", "dvc.yaml"], cwd=project.root, check=True)
    identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run(["git", *identity, "commit", "-qm", "away"], cwd=project.root, check=True)
    with pytest.raises(NightjarError, match=r"dvc\.yaml: not in Git; commit it"):
        name(project)
