"""What an item leaves behind that was taken off a list in params.yaml, on a made repository."""

from __future__ import annotations

import json
import subprocess

import pytest

from pipelines.graph import graph as graphs
from pipelines.graph import leftovers
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
    subprocess.run(["git", "add", "--force", "data/predict/kept"], cwd=project.root, check=True)
    assert found(project) == old


def test_plan_and_rebuild_say_what_to_remove_and_delete_nothing(project: Repo) -> None:
    folder = "data/predict/b/old: no stage makes it, but it is an input of evaluate, report; remove it with: "
    file = "data/metrics/old.json: no stage makes it, but it is an input of report; remove it with: "
    told = project.nightjar("plan").stdout
    assert f"{folder}rm -r data/predict/b/old\n" in told and f"{file}rm -r data/metrics/old.json\n" in told
    told = json.loads(project.nightjar("plan", "--json").stdout)["leftovers"]
    assert told == [
        {"path": "data/metrics/old.json", "readers": ["report"]},
        {"path": "data/predict/b/old", "readers": ["evaluate", "report"]},
    ]
    project.dvc("repro")
    done = project.here("rebuild")
    assert done.returncode == 0 and "Nothing to do" in done.stdout
    assert f"{folder}rm -r data/predict/b/old\n" in done.stdout
    done = project.here("rebuild", "--json")
    assert json.loads(done.stdout)["leftovers"] == told and folder in done.stderr
    assert (project.root / "data/predict/b/old/answers").is_file()
    subprocess.run(["rm", "-r", "data/predict/b/old", "data/metrics/old.json"], cwd=project.root, check=True)
    assert found(project) == {} and "no stage makes it" not in project.nightjar("plan").stdout


def test_names_are_quoted_for_the_shell() -> None:
    told = str(leftovers.Leftover("data/a b", ("one", "two", "three", "four")))
    assert "one, two, three and 1 more; remove it with: rm -r 'data/a b'" in told
