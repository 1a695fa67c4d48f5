"""After an edit of code, the plan names the file for each stage that runs it, as if the stage `code` had run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipelines.graph import repository as graphs
from tests.conftest import ROOT
from tests.in_process import refused
from tests.pipelines.conftest import Repo

DVC = """
stages:
  code:
    cmd: python -m stages.code
    deps: [nightjar, stages]
    params: [benchmarks]
    outs: [data/code]
  split:
    cmd: date +%N > split.txt
    deps: [data/code/split.json]
    outs: [split.txt]
  report:
    cmd: date +%N > report.txt
    deps: [data/code/report.json, split.txt]
    outs: [report.txt]
"""


@pytest.fixture()
def project(repo: Repo) -> Repo:
    """A project with the code of this one, and two of its stages."""
    for package in ("nightjar", "stages"):
        shutil.copytree(ROOT / package, repo.root / package, ignore=shutil.ignore_patterns("__pycache__"))
    (repo.root / ".dvcignore").write_text((ROOT / ".dvcignore").read_text())
    repo.write(dvc=DVC, params="benchmarks: {}\n")
    repo.dvc("repro")
    return repo


def _states(root: Path) -> Mapping[str, tuple[str, str]]:
    return {
        name: (stage.state, stage.why) for name, stage in graphs.read(root).stages.items() if name != "code"
    }


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def _outputs(root: Path) -> tuple[str, str]:
    return (root / "split.txt").read_text(), (root / "report.txt").read_text()


UNCHANGED = ("up to date", "")


def test_files_that_the_stage_will_write_are_not_missing(project: Repo) -> None:
    root = project.root
    (root / "data/code/split.json").unlink()
    _append(root / "stages/report/leaderboard.py", "\nCHANGED = 1\n")
    assert _states(root)["split"] == UNCHANGED, "it will have the text that it had"
    shutil.rmtree(root / "data/code")
    (root / "dvc.lock").unlink()
    assert {state for state, _ in _states(root).values()} <= {"would run", "would be restored"}


def test_plan_names_the_file_and_repro_runs_what_the_plan_says(project: Repo) -> None:
    root = project.root
    assert set(_states(root).values()) == {UNCHANGED}
    before = _outputs(root)

    _append(root / "stages/split/split_artifact.py", "\n# a comment\n")
    assert graphs.read(root).stages["code"].state == "would run"
    assert set(_states(root).values()) == {UNCHANGED}

    _append(root / "stages/report/leaderboard.py", "\nCHANGED = 1\n")
    changed = "stages/report/leaderboard.py changed"
    assert _states(root) == {"split": UNCHANGED, "report": ("would run", changed)}
    project.dvc("repro", "code")
    assert _states(root) == {"split": UNCHANGED, "report": ("would run", changed)}, "the digests on the disk"
    project.dvc("repro")
    after = _outputs(root)
    assert after[0] == before[0] and after[1] != before[1]

    _append(root / "stages/split/split_artifact.py", "\nfrom nightjar.statistics import holm\n")
    (root / "stages/report/numbers.py").unlink()
    states = _states(root)
    assert states["split"][0] == states["report"][0] == "would run"
    assert "nightjar/statistics/verdict.py is new" in str(graphs.read(root).stages["split"].reasons)
    assert "stages/report/numbers.py is gone" in states["report"][1]


def test_code_that_is_not_python_is_one_line(project: Repo) -> None:
    _append(project.root / "stages/split/split_artifact.py", "\nwrong (\n")
    error = refused("plan", cwd=project.root)
    assert "stages/split/split_artifact.py, line" in error and "not Python" in error
