"""What the points of a study run on: the files and parameters that their names were made from."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from pipelines.project.git import baseline
from pipelines.run.clone import Clone
from pipelines.run.results import Result
from pipelines.run.run import Run
from pipelines.study import study_points
from tests.conftest import git
from tests.pipelines.conftest import Repo
from tests.pipelines.run.test_run import execute
from tests.pipelines.study_project import commit


@pytest.fixture()
def project(study_repo: Repo) -> Repo:
    return study_repo


def name(repo: Repo) -> str:
    return study_points.plan(repo.root, ["tasks=4"]).points[0].name


def test_the_clone_has_what_the_project_had_when_the_study_was_planned(project: Repo) -> None:
    root = project.root
    (root / "more.txt").write_text("more\n")
    git(root, "add", "more.txt")
    (root / "made.py").chmod(0o755)
    (root / "notes.txt").unlink()
    (root / "notes.txt").symlink_to("more.txt")
    params = (root / "params.yaml").read_text()
    study = study_points.plan(root, ["tasks=4"])

    # Afterwards everything is edited, taken back or removed.
    (root / "params.yaml").write_text(params.replace("seed: 42", "seed: 43"))
    (root / "made.py").write_text("# another\n")
    (root / "more.txt").unlink()
    git(root, "checkout", "-q", "HEAD", "notes.txt")
    seen: list[str] = []

    def execute(run: Run) -> dict[str, Result]:
        assert run.clone is not None
        seen.append((run.clone / "params.yaml").read_text())
        assert (run.clone / "more.txt").read_text() == "more\n"
        assert (run.clone / "notes.txt").readlink() == Path("more.txt")
        assert (run.clone / "made.py").stat().st_mode & 0o111
        assert "# another" not in (run.clone / "made.py").read_text()
        return {"train": Result("train", "failed", error="seen")}

    failed = study_points.run(root, study, lambda _: None, execute, threading.Event())
    assert failed["4"].startswith("train: seen; ")
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
def test_a_point_whose_input_changes_fails_and_is_not_saved(project: Repo, when: str) -> None:
    raw = project.root / "data/raw/tasks.txt"
    study = study_points.plan(project.root, ["tasks=2,4"])
    ran: list[Run] = []

    def edits(run: Run) -> dict[str, Result]:
        ran.append(run)
        raw.write_text("edited\n")
        return {}

    if when == "before":
        raw.write_text("edited\n")
    failed = study_points.run(project.root, study, lambda _: None, edits, threading.Event())
    assert len(ran) == (when == "during")
    assert list(failed) == ["2", "4"]
    assert "data/raw: it changed since the study was started" in failed["2"]
    assert not study_points.saved(project.root, study.start.commit, [point.name for point in study.points])


def test_a_graph_that_git_does_not_know_is_one_line(project: Repo) -> None:
    git(project.root, "mv", "dvc.yaml", "other.yaml")
    commit(project.root, "away")
    (project.root / ".git/info").mkdir()
    (project.root / ".git/info/exclude").write_text("dvc.yaml\n")
    (project.root / "other.yaml").rename(project.root / "dvc.yaml")
    with pytest.raises(NightjarError, match=r"dvc\.yaml: not in Git; commit it"):
        name(project)


def test_imported_data_in_a_folder_that_git_knows_in_part_are_an_input(repo: Repo) -> None:
    (repo.root / "data/tasks").mkdir(parents=True)
    (repo.root / "data/tasks/a.txt").write_text("a")
    repo.dvc("add", "--quiet", "data/tasks")
    repo.write(dvc="stages: {last: {cmd: cp data/tasks/a.txt o, deps: [data], outs: [o]}}", params="{}")
    commit(repo.root, "start")
    start = baseline(repo.root)
    assert {"data", "data/tasks.dvc", "data/.gitignore"} <= start.tracked_paths
    with Clone(repo.root, start) as clone:
        assert (clone.path / "data/tasks/a.txt").read_text() == "a"
        before = clone.inputs("last")
        assert list(before) == ["data/tasks"]
        (repo.root / "data/tasks/a.txt").unlink()
        (repo.root / "data/tasks/a.txt").write_text("b")
        assert clone.inputs("last") != before


def test_a_folder_of_outputs_is_not_linked_into_the_clone(repo: Repo) -> None:
    """A stage that the study runs would otherwise write into the project."""
    repo.write(
        dvc="""
        stages:
          one: {cmd: "mkdir -p data/parts && cat in.txt > data/parts/one", deps: [in.txt], outs: [data/parts/one]}
          all: {cmd: "cat data/parts/* > all.txt", deps: [data/parts], outs: [all.txt]}
        """,
        params="{}",
    )
    (repo.root / "in.txt").write_text("now")
    commit(repo.root, "start")
    (repo.root / "data/parts").mkdir(parents=True)
    (repo.root / "data/parts/one").write_text("the project's")
    with Clone(repo.root, baseline(repo.root)) as clone:
        results = clone.run(execute, "all", "{}", repo.root / "logs", lambda _: None, threading.Event())
        assert {result.state for result in results.values()} == {"ran"}
        assert (clone.path / "all.txt").read_text() == "now"
    assert (repo.root / "data/parts/one").read_text() == "the project's"
