"""nightjar use: what it prints of the keys that it adds, changes and removes, and what a user's own entries become."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from nightjar.core.config import read_yaml
from nightjar.core.paths import PARAMS_BEFORE
from pipelines.cli import main
from pipelines.process.lock import rebuild_lock
from tests.conftest import ROOT
from tests.in_process import captured, refused

OWN = {"data": "train", "texts": "data/split", "calls": "data/none", "evidence": "data/none"}


@pytest.fixture()
def project(workdir: Path) -> Path:
    """The sample profile, with a recipe and a tool of the user's own in params.yaml."""
    shutil.copytree(ROOT / "profiles", workdir / "profiles")
    shutil.copy(ROOT / "params.yaml", workdir / "params.yaml")
    path = workdir / "params.yaml"
    text = path.read_text().replace("seed: 42\n", "seed: 7\n", 1)
    path.write_text(text.replace("  recipes:\n", f"  recipes:\n    mine: {json.dumps(OWN)}\n", 1))
    return workdir


def test_removed_added_and_changed_keys_differ(project: Path) -> None:
    done = captured(main, ["use", "ablation"])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "seed: 7 -> 42" in lines
    (mine,) = [line for line in lines if line.startswith('train.recipes.mine: {"data": "train", ')]
    assert mine.endswith("… -> (removed)") and "train.calls_only: {} (added)" in lines
    assert 'train.recipes.calls_only.calls: "data/augment_merge" (added)' in lines
    (long,) = [line for line in lines if line.startswith("predict.systems.protoqa-combined: ")]
    assert long.endswith("… -> (removed)") and len(long) < 140
    assert not [line for line in lines if line.endswith("-> null") or " null -> {" in line]


def test_what_is_in_no_profile_is_named_and_can_be_had_back(project: Path) -> None:
    before = (project / "params.yaml").read_text()
    done = captured(main, ["use", "ablation", "--json"])
    assert done.stderr.startswith("nightjar: use: removed, and in no profile: train.recipes.mine; ")
    assert done.stderr.count("\n") == 1 and str(PARAMS_BEFORE) in done.stderr
    assert "protoqa-combined" not in done.stderr, "the sample profile has it"
    kinds = {row["key"]: row["kind"] for row in json.loads(done.stdout)}
    assert kinds["train.recipes.mine"] == "removed" and kinds["seed"] == "changed"
    assert (project / PARAMS_BEFORE).read_text() == before

    back = captured(main, ["use", "sample"])
    assert back.stderr == "", "only entries of profiles are removed"
    assert (project / PARAMS_BEFORE).read_text() == before, "so the copy remains"


def test_an_entry_of_a_profile_of_ones_own_is_not_lost(project: Path) -> None:
    (project / "profiles/mine.yaml").write_text(f"train: {{recipes: {json.dumps({'mine': OWN})}}}\n")
    assert captured(main, ["use", "ablation"]).stderr == ""
    assert not (project / PARAMS_BEFORE).exists()


def test_parameters_do_not_change_under_a_rebuild(project: Path) -> None:
    before = (project / "params.yaml").read_text()
    with rebuild_lock(project):
        assert "a rebuild is running (process " in refused("use", "ablation")
    assert (project / "params.yaml").read_text() == before


def test_only_what_the_profile_is_for_is_named_as_missing(project: Path) -> None:
    """The stages of the other benchmarks have no systems in this profile, so nothing makes what they read."""
    shutil.copy(ROOT / "dvc.yaml", project)
    (project / "data").mkdir()
    (project / "data/none").touch()
    done = captured(main, ["use", "protoqa_cpu"])
    assert done.returncode == 0 and "data/predict/" not in done.stderr
    named = [line for line in done.stderr.splitlines() if " is missing" in line]
    assert any("data/pgra" in line for line in named) and any(
        "data/fetched/protoqa" in line for line in named
    )
    assert not [line for line in named if "data/retrieve/" in line]
    listed = {one["check"]: one for one in json.loads(captured(main, ["doctor", "--json"]).stdout)}
    assert "data/predict/" not in listed["data"]["text"]


def test_systems_whose_tools_are_a_path_are_moved_with_a_line(project: Path) -> None:
    systems = {
        "supernatinst-mine": {"kind": "model", "weights": "own", "tools": "data/index"},
        "supernatinst-plain": {"kind": "model", "weights": "own", "tools": "data/none"},
        "classification-mine": {"kind": "reader", "weights": "own", "tools": "data/index"},
    }
    for name, system in systems.items():
        benchmark, _, short = name.partition("-")
        system |= {"benchmark": benchmark, "system": short, "evidence": "data/none"}
    profile = project / "profiles/mine.yaml"
    profile.write_text(json.dumps({"extends": "sample", "predict": {"systems": systems}}))
    done = captured(main, ["use", "mine"])
    assert done.returncode == 0
    note = (
        "nightjar: use: profiles/mine.yaml: moved the index of tools out of `tools`: supernatinst-mine (tools: all, "
        "index: data/index), supernatinst-plain (tools: none, index: data/none), classification-mine (tools: none, "
        "index: data/index); write this into the profile"
    )
    assert note in done.stderr.splitlines()
    written = read_yaml(project / "params.yaml")["predict"]["systems"]
    moved = {name: (written[name]["tools"], written[name]["index"]) for name in systems}
    assert list(moved.values()) == [("all", "data/index"), ("none", "data/none"), ("none", "data/index")]


def test_missing_data_are_named(project: Path) -> None:
    for file in ("dvc.yaml", "data/none"):
        (project / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, project / file)
    done = captured(main, ["use", "real"])
    assert done.returncode == 0
    assert "nightjar: use: data/fetched/protoqa (ingest.protoqa.path) is missing" in done.stderr
    assert "nightjar: use: to fetch them: nightjar fetch " in done.stderr


def test_entries_that_a_profile_has_by_its_benchmark_are_in_a_profile(project: Path) -> None:
    profile = "extends: sample\nbenchmarks: {capitals: {code: capitals, data: data/own}}\n"
    (project / "profiles/capitals.yaml").write_text(profile)
    captured(main, ["use", "capitals"])
    done = captured(main, ["use", "sample"])
    assert (done.returncode, done.stderr) == (0, "")
    assert "predict.systems.capitals-untuned" in done.stdout
