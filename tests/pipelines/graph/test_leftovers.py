"""What an item leaves behind that was taken off a list in params.yaml, on a made repository."""

from __future__ import annotations

import json
import shutil

import pytest
from ruamel.yaml import YAML

from pipelines.graph import leftovers
from pipelines.graph import repository as graphs
from tests.conftest import git
from tests.in_process import refused
from tests.pipelines.conftest import Repo

DVC = """
stages:
  predict:
    foreach: ${systems}
    do:
      cmd:
        - mkdir -p data/predict/b/${item}
        - echo ${item} > data/predict/b/${item}/answers
        - echo 1 > data/metrics/${item}.json
      outs: ["data/predict/b/${item}"]
      metrics: ["data/metrics/${item}.json"]
  evaluate:
    cmd: ls data/predict/b > scores.txt
    deps: [data/predict/b]
    outs: [scores.txt]
  report:
    cmd: ls data/predict > report.txt
    deps: [data/predict, data/metrics, notes, scores.txt]
    outs: [report.txt]
"""


@pytest.fixture()
def project(repo: Repo) -> Repo:
    """Three systems were predicted and evaluated; then one was taken off the list."""
    repo.write(dvc=DVC, params="systems: [one, old, two]\n")
    (repo.root / ".gitignore").write_text("/data/\n")
    (repo.root / "data/metrics").mkdir(parents=True)
    (repo.root / "notes").mkdir()
    (repo.root / "notes/mine.txt").write_text("in a folder without outputs\n")
    repo.dvc("repro")
    repo.write(params="systems: [one, two]\n")
    return repo


def found(repo: Repo, *stages: str) -> dict[str, tuple[str, ...]]:
    whole = graphs.read(repo.root)
    return {it.path: it.readers for it in leftovers.find(whole, whole.only(stages))}


def test_outputs_of_an_item_that_is_gone_are_named_with_their_readers(project: Repo) -> None:
    old = {"data/metrics/old.json": ("report",), "data/predict/b/old": ("evaluate", "report")}
    assert found(project) == old
    assert found(project, "evaluate") == {"data/predict/b/old": ("evaluate",)}
    assert found(project, "predict") == {}
    # What DVC and writers keep beside outputs, and what Git knows, is none.
    (project.root / "data/predict/b/.gitignore").write_text("/one\n")
    (project.root / "data/predict/kept").mkdir()
    (project.root / "data/predict/kept/table.csv").write_text("1\n")
    assert found(project) == old | {"data/predict/kept": ("report",)}
    git(project.root, "add", "--force", "data/predict/kept")
    assert found(project) == old


def test_plan_and_rebuild_say_what_to_remove_and_delete_nothing(project: Repo) -> None:
    folder = (
        "data/predict/b/old: no stage makes it, but it is an input of evaluate, report; see nightjar clean\n"
    )
    file = "data/metrics/old.json: no stage makes it, but it is an input of report; see nightjar clean\n"
    told = project.nightjar("plan").stdout
    assert folder in told and file in told
    told = json.loads(project.nightjar("plan", "--json").stdout)["leftovers"]
    assert told == [
        {"path": "data/metrics/old.json", "readers": ["report"]},
        {"path": "data/predict/b/old", "readers": ["evaluate", "report"]},
    ]
    project.dvc("repro")
    done = project.here("rebuild")
    assert done.returncode == 0 and "Nothing to do" in done.stdout
    assert folder in done.stdout
    done = project.here("rebuild", "--json")
    assert json.loads(done.stdout)["leftovers"] == told and folder in done.stderr
    assert (project.root / "data/predict/b/old/answers").is_file()
    shutil.rmtree(project.root / "data/predict/b/old")
    (project.root / "data/metrics/old.json").unlink()
    assert found(project) == {} and "no stage makes it" not in project.nightjar("plan").stdout


def test_clean_lists_and_removes_what_removed_stages_made(project: Repo) -> None:
    (project.root / "data/predict/mine").mkdir()
    (project.root / "data/predict/mine/notes").write_text("a user's own\n")
    before = (project.root / "dvc.lock").read_text()
    told = json.loads(project.here("clean", "--json").stdout)
    wanted = {"paths": {"data/metrics/old.json": 2, "data/predict/b/old": 4}, "entries": ["predict@old"]}
    assert told == wanted | {"unknown": ["data/predict/mine"], "removed": False}
    assert (project.root / "dvc.lock").read_text() == before and (
        project.root / "data/predict/b/old"
    ).is_dir()
    done = project.here("clean", "--remove")
    assert done.returncode == 0 and "dvc.lock: 1 entry removed: predict@old\n" in done.stdout
    assert "data/predict/mine: kept" in done.stdout and (project.root / "data/predict/mine/notes").is_file()
    assert not (project.root / "data/predict/b/old").exists()
    assert not (project.root / "data/metrics/old.json").exists()
    after = YAML(typ="safe").load((project.root / "dvc.lock").read_text())["stages"]
    entries = YAML(typ="safe").load(before)["stages"]
    assert after == {name: entry for name, entry in entries.items() if name != "predict@old"}
    shutil.rmtree(project.root / "data/predict/mine")
    assert "Nothing to remove" in project.here("clean").stdout
    assert project.dvc("status", "predict@one", "predict@two").strip() == "Data and pipelines are up to date."


def test_a_folder_of_removed_outputs_alone_is_not_named_beside_them(project: Repo) -> None:
    moved = DVC.replace("data/predict/b", "data/predict/c")
    project.write(dvc=moved, params="systems: [new]\n")
    told = json.loads(project.here("clean", "--json").stdout)
    outputs = {f"data/predict/b/{name}" for name in ("one", "old", "two")}
    assert set(told["paths"]) == outputs | {f"data/metrics/{name}.json" for name in ("one", "old", "two")}
    assert told["unknown"] == []


def test_clean_keeps_what_git_knows_and_what_is_an_input(project: Repo) -> None:
    """An output of a removed stage that the user took over: added to Git, or named as an input."""
    project.write(
        dvc=DVC
        + "  mine:\n    cmd: touch mine.txt\n    deps: [data/predict/b/old/answers]\n    outs: [mine.txt]\n"
    )
    git(project.root, "add", "--force", "data/metrics/old.json")
    told = json.loads(project.here("clean", "--remove", "--json").stdout)
    assert told["paths"] == {} and told["entries"] == ["predict@old"]
    assert (project.root / "data/predict/b/old/answers").is_file()
    assert (project.root / "data/metrics/old.json").is_file()


def test_clean_removes_nothing_if_the_lock_file_has_another_form(project: Repo) -> None:
    lock = project.root / "dvc.lock"
    lock.write_text("schema: '2.0'\nstages: {gone: {cmd: x, outs: [{path: data/predict/b/old}]}}\n")
    assert "not as DVC writes it" in refused("clean", "--remove", cwd=project.root)
    assert (project.root / "data/predict/b/old").is_dir()
