"""A folder around the outputs of several stages is a dependency: what reads it waits for all of them."""

from __future__ import annotations

import json

import pytest

from pipelines.graph import repository as graphs
from tests.pipelines.conftest import Repo

# The system that is named first ends last. A path may be named twice, as where a recipe has no evidence of its own.
DVC = """
stages:
  predict:
    foreach: ${systems}
    do:
      cmd:
        - sleep ${item.seconds}; mkdir -p data/predict/${item.benchmark}/${key}
        - cp ${item.reads} data/predict/${item.benchmark}/${key}/answers
        - mkdir -p data/metrics; echo 1 > data/metrics/${key}.json
      deps: ["${item.reads}", "${item.also}"]
      outs: ["data/predict/${item.benchmark}/${key}", "data/metrics/${key}.json"]
  evaluate:
    foreach: [a, b]
    do:
      cmd: mkdir -p data/evaluate; cat data/predict/${item}/*/answers > data/evaluate/${item}
      deps: ["data/predict/${item}"]
      outs: ["data/evaluate/${item}"]
  report:
    cmd: cat data/evaluate/* > report.txt; ls data/metrics >> report.txt
    deps: [data/predict, data/evaluate, data/metrics]
    outs: [report.txt]
"""
SYSTEMS = {
    "slow": {"benchmark": "a", "seconds": 2, "reads": "one.txt", "also": "one.txt"},
    "quick": {"benchmark": "a", "seconds": 0, "reads": "two.txt", "also": "one.txt"},
    "other": {"benchmark": "b", "seconds": 0, "reads": "two.txt", "also": "two.txt"},
}


def write(repo: Repo, **systems: dict[str, object]) -> None:
    repo.write(params=json.dumps({"systems": systems}))


@pytest.fixture()
def project(repo: Repo) -> Repo:
    repo.write(dvc=DVC, one="1\n", two="2\n")
    write(repo, **SYSTEMS)
    (repo.root / ".gitignore").write_text("/data/\n")
    return repo


def test_the_graph_has_the_makers_of_what_is_in_a_folder(project: Repo) -> None:
    stages = graphs.read(project.root).stages
    assert stages["evaluate@a"].upstream == ("predict@quick", "predict@slow")
    assert stages["evaluate@b"].upstream == ("predict@other",)
    assert set(stages["report"].upstream) == stages.keys() - {"report"}


@pytest.mark.slow
def test_a_rebuild_side_by_side_waits_for_all_in_a_folder(project: Repo) -> None:
    def rebuilt() -> dict[str, str]:
        done = project.nightjar("rebuild", "--jobs", "3", "--json")
        assert done.returncode == 0, done.stderr
        return {row["stage"]: row["state"] for row in json.loads(done.stdout)["stages"]}

    assert set(rebuilt().values()) == {"ran"}
    report = project.root / "report.txt"
    assert report.read_text() == "2\n1\n2\nother.json\nquick.json\nslow.json\n"
    assert set(rebuilt().values()) == {"unchanged"}
    # One system changes: its benchmark and the report follow, the other benchmark does not.
    project.write(one="3\n")
    states = rebuilt()
    assert {name for name, state in states.items() if state == "ran"} >= {
        "predict@slow",
        "evaluate@a",
        "report",
    }
    assert states["predict@other"] == states["evaluate@b"] == "unchanged"
    assert report.read_text().startswith("2\n3\n2\n")
    # A system is added, and one taken off the list: what it made remains, and is named.
    first, *others = SYSTEMS
    write(project, **{name: SYSTEMS[name] for name in others}, new=SYSTEMS["other"] | {"benchmark": "a"})
    states = rebuilt()
    assert states["predict@new"] == states["evaluate@a"] == states["report"] == "ran"
    left = json.loads(project.nightjar("plan", "--json").stdout)["leftovers"]
    assert [it["path"] for it in left] == [f"data/metrics/{first}.json", f"data/predict/a/{first}"]
    assert "up to date" in project.nightjar("plan").stdout
