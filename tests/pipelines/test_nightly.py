"""Nights on a made project: real DVC, real Prefect, real signals, and scores that are known beforehand."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipelines import ledger as ledgers
from pipelines import nightly_facts, nightly_text
from pipelines import server as servers
from tests.conftest import ROOT
from tests.pipelines.conftest import Api, Repo, lives, wait_for

DVC = """
stages:
  split:
    cmd: python made.py split
    params: [question, test]
    deps: [made.py]
    outs: [data/split]
  train:
    cmd: python made.py train
    deps: [made.py, strength.txt]
    outs: [models/train/model.json]
  predict:
    foreach: [made-model]
    do:
      cmd: python made.py predict
      params: [seed, threads]
      deps: [made.py, data/split, models/train/model.json]
      outs: ["data/predict/${item}.json"]
  evaluate:
    foreach: [made]
    do:
      cmd: python made.py evaluate
      deps: [made.py, data/split, data/predict/made-model.json]
      outs: ["data/evaluate/${item}"]
      metrics: ["data/evaluate-${item}.json"]
  never:
    cmd: exit 1
    deps: [data/evaluate/made]
    outs: [data/never]
"""
PARAMS = """
seed: 1
threads: 1
question: What is
test: 40
nightly:
  ledger: ledger
  minimum_instances: 10
  bootstrap_samples: 1000
"""


@pytest.fixture(scope="module")
def prepared(empty_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose model is trained and whose data are split; nothing was ever evaluated."""
    root = tmp_path_factory.mktemp("nightly") / "repo"
    shutil.copytree(empty_repo, root)
    repo = Repo(root)
    repo.write(dvc=DVC, params=PARAMS, strength="30")
    shutil.copy(ROOT / "tests/pipelines/nightly_stages.py", root / "made.py")
    (root / ".gitignore").write_text("/data/\n/models/\n/ledger/\n.nightjar/\n__pycache__/\n")
    commit(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NIGHT_RUNS", str(root.parent / "unused"))
        repo.dvc("repro", "split", "train")
    return root


def commit(root: Path) -> None:
    subprocess.run(["git", "add", "--all"], cwd=root, check=True)
    identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    subprocess.run(["git", *identity, "commit", "-qm", "made"], cwd=root, check=True)


@pytest.fixture()
def project(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: Api) -> Repo:
    root = tmp_path / "repo"
    shutil.copytree(prepared, root)
    monkeypatch.setenv("NIGHT_RUNS", str(tmp_path / "runs"))
    repo = Repo(root)
    api.serve(repo)
    return repo


def night(repo: Repo, *options: str, expect: int = 0) -> dict[str, Any]:
    done = repo.nightjar("nightly", "--json", *options, timeout=200)
    assert done.returncode == expect, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def cells(told: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(row["system"], row["metric"]): row["verdict"] for row in told["verdicts"]}


def state(root: Path) -> dict[str, str]:
    """What a night must not change: every file of the project but what is Nightjar's and DVC's own."""
    return {
        path.relative_to(root).as_posix(): hashlib.md5(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and path.relative_to(root).parts[0] not in (".nightjar", "ledger", ".git")
        and path.relative_to(root).parts[:2] != (".dvc", "tmp")
    }


def retrain(repo: Repo, strength: int) -> None:
    repo.write(strength=str(strength))
    repo.dvc("repro", "train")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nights_from_the_first_to_a_regression_and_its_acceptance(
    project: Repo, api: Api, tmp_path: Path
) -> None:
    before = state(project.root)
    first = night(project)
    assert set(cells(first).values()) == {"not comparable"}
    assert first["verdicts"][0]["reason"] == "there is no earlier good run"
    again = night(project)
    assert again["against"] == first["run"] and again["benchmarks"] == {"made": "unchanged"}
    assert state(project.root) == before, "the project was changed"
    assert not (project.root / ".nightjar/nightly").exists()
    # Both nights ran the stages, and only those, in their own folder, though nothing had changed.
    scratch = project.root / ".nightjar/nightly"
    assert (tmp_path / "runs").read_text().split("\n")[:-1] == [
        f"{name} {scratch}" for name in ("predict", "evaluate") * 2
    ]

    retrain(project, 12)
    worse = night(project, expect=1)
    assert {cell: word for cell, word in cells(worse).items() if word != "unchanged"} == {
        ("model", metric): "worse" for metric in ("exact_match", "rouge1", "rougeL")
    }
    told = next(row for row in worse["verdicts"] if row["system"] == "model")
    assert (told["before"], told["now"], told["value"], told["worse"]) == (75, 30, -45, 18)
    line = (project.root / ".nightjar/notifications.jsonl").read_text()
    event = json.loads(line)
    assert (event["kind"], event["run"], len(event["worse"])) == ("nightly worse", worse["run"], 3)
    shown(api, worse)

    accepted = night(project, "--accept")
    assert accepted["against"] == again["run"], "compared with the worse run"
    assert accepted["state"] == "good" and accepted["message"].startswith("accepted: made: worse (")
    retrain(project, 38)
    better = night(project)
    assert better["against"] == accepted["run"] and better["benchmarks"] == {"made": "better"}
    assert (project.root / ".nightjar/notifications.jsonl").read_text() == line

    entries = ledgers.entries(project.root / "ledger")
    assert [entry["state"] for entry in entries] == ["good", "good", "worse", "good", "good"]
    assert [entry["accepted"] for entry in entries] == [False, False, False, True, False]
    assert entries[0]["changed"] == [] and "strength.txt" in entries[2]["changed"]
    assert entries[0]["versions"]["made"] == "1.2" and entries[0]["seed"] == 1
    assert entries[0]["hardware"]["cores"] >= 1 and len(entries[0]["commit"]) == 40
    lock = (project.root / "dvc.lock").read_bytes()
    assert entries[-1]["lock_sha256"] == hashlib.sha256(lock).hexdigest()
    assert ledgers.read(entries[-1], "scores.parquet").num_rows == 6
    assert ledgers.read(entries[-1], "instances.parquet").num_rows == 240

    listed = project.nightjar("ledger").stdout
    assert re.findall(r"(?m)^\d{8}T\d{6}Z-\w{6}  (\w+)", listed) == ["good", "good", "worse", "good", "good"]
    assert json.loads(project.nightjar("ledger", "--json").stdout)[2]["benchmarks"] == {"made": "worse"}
    one = json.loads(project.nightjar("ledger", worse["run"][-6:], "--json").stdout)
    assert len(one["scores"]) == 6 and one["against"] == again["run"]
    assert "made: better" in project.nightjar("ledger", "last").stdout
    assert project.nightjar("ledger", "--check").stdout == "5 runs, all as they were written.\n"


def shown(api: Api, told: dict[str, Any]) -> None:
    """The regression as Prefect's own interface sees it."""
    runs = api.ask("flow_runs/filter", flow_runs={"state": {"type": {"any_": ["FAILED"]}}})
    run = next(run for run in runs if run["state"]["message"] == told["message"])
    of_run = {"flow_runs": {"id": {"any_": [run["id"]]}}}
    tasks = wait_for(lambda: api.ask("task_runs/filter", **of_run), what="the tasks")
    assert {task["name"] for task in tasks} == {"take model and data", "predict@made-model", "evaluate@made"}
    artifacts = api.ask("artifacts/filter", artifacts={"flow_run_id": {"any_": [run["id"]]}})
    kept = {item["key"]: item for item in artifacts if item["type"] != "progress"}
    assert set(kept) == {"nightly", "scores-history", "scores-plot"}
    assert "### made: worse" in kept["nightly"]["data"] and "-45.00 [" in kept["nightly"]["data"]
    assert len(json.loads(kept["scores-history"]["data"])[0]) == 4 + 3, "a column a night"


@pytest.mark.slow
def test_other_parameters_instances_and_texts_are_not_compared(project: Repo) -> None:
    night(project)
    project.write(params=PARAMS.replace("seed: 1", "seed: 2").replace("threads: 1", "threads: 2"))
    told = night(project)
    reasons = {row["system"]: row["reason"] for row in told["verdicts"]}
    # The seed is a parameter of the stage that predicts, not of the one that scores; threads do not count.
    assert reasons == {"model": "other parameters: seed 1 → 2", "copy": ""}
    assert told["benchmarks"] == {"made": "unchanged"}
    assert told["message"].startswith("made: unchanged (not comparable: model)")
    project.write(params=PARAMS.replace("seed: 1", "seed: 2").replace("What is", "Tell me"))
    project.dvc("repro", "split")
    reasons = {row["system"]: row["reason"] for row in night(project)["verdicts"]}
    assert reasons["copy"] == "40 instances have another input or other references"


@pytest.mark.slow
def test_a_failed_night_is_told_and_is_no_baseline_and_nothing_to_take_is_one_line(project: Repo) -> None:
    good = night(project)
    (project.root / "broken.txt").write_text("")
    commit(project.root)
    failed = night(project, expect=1)
    assert failed["state"] == "failed"
    assert failed["message"] == "predict@made-model failed: exit status 3: the model broke"
    event = json.loads((project.root / ".nightjar/notifications.jsonl").read_text())
    assert event["kind"] == "nightly failed"
    (project.root / "broken.txt").unlink()
    last = ledgers.last_good(project.root / "ledger")
    assert last is not None and last["run"] == good["run"]
    shutil.rmtree(project.root / ".dvc/cache/files")
    gone = night(project, expect=1)
    assert gone["message"] == ("data/split is not there (and 1 more); run `nightjar rebuild`, or give --pull")


@pytest.mark.slow
def test_a_remote_gives_what_is_missing(project: Repo, tmp_path: Path) -> None:
    project.dvc("remote", "add", "--local", "-d", "store", str(tmp_path / "store"))
    project.dvc("push", "data/split", "models/train/model.json")
    shutil.rmtree(project.root / ".dvc/cache/files")
    shutil.rmtree(project.root / "models")
    assert night(project, "--pull")["state"] == "good"


@pytest.mark.slow
def test_started_twice_then_cancelled_then_killed_and_started_again(
    project: Repo, api: Api, tmp_path: Path
) -> None:
    slow, pid_file = tmp_path / "runs.slow", tmp_path / "runs.pid"
    slow.touch()

    def running() -> int | None:
        return int(pid_file.read_text()) if pid_file.exists() and pid_file.read_text() else None

    first = project.start("nightly")
    pid = wait_for(running, 90, "the stage")
    second = project.nightjar("nightly")
    assert second.returncode == 2
    assert re.fullmatch(
        rf"nightjar: \.nightjar/nightly\.lock: a nightly is running \(process {first.pid}, since \S+\); .*\n",
        second.stderr,
    )
    run = next((project.root / ".nightjar/unrecorded").iterdir()).stem
    cancel = {"type": "CANCELLING", "name": "Cancelling"}  # as the page does
    api.ask(f"flow_runs/{run}/set_state", state=cancel)
    wait_for(lambda: not lives(pid), 10)
    _, err = first.communicate(timeout=30)
    assert (first.returncode, err) == (130, "nightjar: nightly: stopped; nothing was added to the ledger\n")
    assert not lives(pid) and not (project.root / ".nightjar/nightly").exists()

    pid_file.unlink()
    killed = project.start("nightly")
    orphan = wait_for(running, 90, "the stage")
    killed.kill()
    killed.communicate()
    wait_for(lambda: not lives(orphan), 10)
    assert (project.root / ".nightjar/nightly").exists()
    slow.unlink()
    assert night(project)["state"] == "good"
    assert not (project.root / ".nightjar/nightly").exists()
    assert len(ledgers.entries(project.root / "ledger")) == 1
    (told,) = (project.root / ".nightjar/notifications.jsonl").read_text().splitlines()
    assert json.loads(told)["kind"] == "nightly crashed"


@pytest.mark.slow
def test_a_server_that_goes_away_costs_no_night(project: Repo, tmp_path: Path) -> None:
    (
        project.root / servers.STATE
    ).unlink()  # the night starts a server of its own, and again when it is killed
    slow, pid_file = tmp_path / "runs.slow", tmp_path / "runs.pid"
    slow.touch()
    started = project.start("nightly", "--json")
    wait_for(pid_file.exists, 120, "the stage")
    server = json.loads((project.root / servers.STATE).read_text())
    os.kill(server["pid"], signal.SIGKILL)
    slow.unlink()
    out, err = started.communicate(timeout=200)
    assert (started.returncode, "away" in err, "Traceback" in err) == (0, False, False), out + err
    entry = ledgers.last_good(project.root / "ledger")
    assert entry is not None and json.loads(out)["run"] == entry["run"]
    assert not list((project.root / ".nightjar/unrecorded").iterdir()), "it was not recorded"


def test_a_repository_without_such_stages_or_without_a_commit_is_one_line(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: touch a\n    outs: [a]\n")
    assert repo.nightjar("ledger").stderr.count("\n") == 1
    repo.write(params="nightly:\n  alpha: 2\n")
    told = repo.nightjar("nightly")
    assert (told.returncode, told.stderr.count("\n")) == (2, 1) and "nightly.alpha = 2" in told.stderr
    repo.write(params="nightly:\n  clock: daily\n")
    assert "unknown key nightly.clock" in repo.nightjar("ledger").stderr


def test_parameters_of_the_stages_behind_a_score_are_compared_and_no_others() -> None:
    def stages(seed: int, other: int, top: int) -> dict[str, Any]:
        return {
            "evaluate@b": {"params": {"seed": seed, "threads": other}, "benchmarks": ["b"]},
            "predict@b-s": {"params": {"predict.top": top}, "benchmarks": []},
            "predict@b-t": {"params": {"predict.top": other}, "benchmarks": []},
        }

    same = nightly_facts.other_parameters(stages(1, 5, 3), stages(1, 6, 3), "b", "s")
    assert same == ""
    told = nightly_facts.other_parameters(stages(2, 5, 4), stages(1, 5, 3), "b", "s")
    assert told == "other parameters: predict.top 3 → 4, seed 1 → 2"
    assert nightly_facts.other_parameters(stages(2, 5, 4), {}, "b", "s").startswith("other parameters: ")


def test_a_benchmark_is_worse_if_any_of_its_scores_is() -> None:
    rows = [
        {"benchmark": "a", "system": "s", "verdict": "unchanged"},
        {"benchmark": "a", "system": "t", "verdict": "better"},
        {"benchmark": "b", "system": "s", "verdict": "better"},
        {"benchmark": "b", "system": "s", "verdict": "worse"},
        {"benchmark": "c", "system": "s", "verdict": "not comparable"},
    ]
    assert nightly_text.benchmarks(rows) == {"a": "better", "b": "worse", "c": "not comparable"}
    assert nightly_text.words(rows)["a", "s"] == "unchanged"


def test_a_page_without_comparisons_says_nothing_of_their_correction() -> None:
    facts = {
        **dict.fromkeys(("run", "state", "message", "commit", "lock_sha256"), "x"),
        "changed": [],
        "hardware": {"cpu": "x", "cores": 2, "gpus": []},
        "against": None,
    }
    row = {
        **dict.fromkeys(("benchmark", "system", "track", "metric", "reason"), "a"),
        **dict.fromkeys(("before", "now", "value", "better"), None),
        "n": 20,
        "verdict": "not comparable",
        "p_corrected": None,
    }
    assert "Holm" not in nightly_text.markdown(facts, [])
    assert "Holm" not in nightly_text.markdown(facts, [row])
    assert "Holm" in nightly_text.markdown(facts, [row, row | {"verdict": "unchanged", "p_corrected": 0.5}])
