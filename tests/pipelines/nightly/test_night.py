"""Nights on a made project: real DVC, real Prefect, real signals, and scores that are known beforehand."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipelines.history import ledger as ledgers
from tests.conftest import ROOT
from tests.pipelines import nightly_stages as made
from tests.pipelines.conftest import Api, Repo, environment, lives, wait_for
from tests.pipelines.study_project import commit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def prepared(empty_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose model is trained and whose data are split; nothing was ever evaluated."""
    root = tmp_path_factory.mktemp("nightly") / "repo"
    shutil.copytree(empty_repo, root)
    repo = Repo(root)
    repo.write(dvc=made.DVC, params=made.PARAMS, strength="30")
    shutil.copy(ROOT / "tests/pipelines/nightly_stages.py", root / "made.py")
    (root / ".gitignore").write_text("/data/\n/models/\n/ledger/\n.nightjar/\n__pycache__/\n")
    commit(root, "made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NIGHT_RUNS", str(root.parent / "unused"))
        repo.dvc("repro", "questions", "train")
    return root


@pytest.fixture()
def project(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: Api) -> Repo:
    root = tmp_path / "repo"
    shutil.copytree(prepared, root)
    monkeypatch.setenv("NIGHT_RUNS", str(tmp_path / "runs"))
    repo = Repo(root)
    api.serve(repo)
    return repo


# `nightjar` for one command after another, in one process: DVC takes a processor second to load.
SHELL = """
import contextlib, io, json, sys, threading
from pipelines.cli import main
class Unread(io.StringIO):
    def write(self, text):
        if threading.current_thread() is not threading.main_thread():
            raise BrokenPipeError  # what shows the progress fails; the process's own streams never do
        return super().write(text)
for line in sys.stdin:
    arguments, read = json.loads(line)
    out, err, code = io.StringIO(), io.StringIO() if read else Unread(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as ended:
            code = ended.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


@dataclass
class Nights:
    """What became of one night after another in the same project."""

    repo: Repo
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    # The project's files before and after a night.
    states: dict[str, tuple[dict[str, str], dict[str, str]]] = field(default_factory=dict)
    stages: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def nights(prepared: Path, tmp_path_factory: pytest.TempPathFactory, api: Api) -> Iterator[Nights]:
    """Five nights of the smallest sample: model and data come from a remote, a broken model, a worse one, that one
    accepted while nobody reads the progress and the ledger has an entry that cannot be read, and no data.
    """
    folder = tmp_path_factory.mktemp("nights")
    repo = Repo(folder / "repo")
    shutil.copytree(prepared, repo.root)
    api.serve(repo)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NIGHT_RUNS", str(folder / "runs"))
        shell = subprocess.Popen(
            [sys.executable, "-c", SHELL],
            cwd=repo.root,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = Nights(repo)

        def night(name: str, *options: str, expect: int = 0, read: bool = True) -> None:
            assert shell.stdin is not None and shell.stdout is not None
            before = state(repo.root)
            order = [["nightly", "--json", *options], read]
            print(json.dumps(order), file=shell.stdin, flush=True)
            code, out, err = json.loads(shell.stdout.readline())
            assert (code, "Traceback" in err) == (expect, False), out + err
            found.told[name], found.errors[name] = json.loads(out), err
            found.states[name] = before, state(repo.root)

        try:
            repo.dvc("remote", "add", "--local", "-d", "store", str(folder / "store"))
            repo.dvc("push", "data/questions/made", "models/train/model.json")
            shutil.rmtree(repo.root / ".dvc/cache/files")
            shutil.rmtree(repo.root / "models")
            night("pulled", "--pull")
            (repo.root / "broken.txt").write_text("")
            commit(repo.root, "made")
            night("broken", expect=1)
            (repo.root / "broken.txt").unlink()
            repo.write(strength="12")
            repo.dvc("repro", "train")
            night("worse", expect=1)
            unreadable = repo.root / "ledger/date=2026-01-01/old"
            unreadable.mkdir(parents=True)
            (unreadable / "run.parquet").write_text("no Parquet")
            night("accepted", "--accept", read=False)
            shutil.rmtree(unreadable.parent)
            shutil.rmtree(repo.root / ".dvc/cache/files")
            night("nothing there", expect=1)
            found.stages = (folder / "runs").read_text().split("\n")[:-1]
        finally:
            shell.communicate(timeout=60)
    yield found


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


def test_a_night_changes_nothing_in_the_project_and_runs_every_stage_afresh(nights: Nights) -> None:
    root = nights.repo.root
    for name, (before, after) in nights.states.items():
        if name == "pulled":
            after = {path: told for path, told in after.items() if path in before or "/cache/" not in path}
        assert after == before, name
    assert not (root / ".nightjar/nightly").exists()
    # Those stages and only those, in their own folder, though between two of the nights nothing had changed.
    scratch = root / ".nightjar/nightly"
    both = [f"{name} {scratch}" for name in ("predict", "evaluate")]
    assert nights.stages == [*both, both[0], f"train {root}", *both * 2]


def test_the_first_night_is_compared_with_none_and_a_remote_gives_what_is_missing(nights: Nights) -> None:
    first = nights.told["pulled"]
    assert (first["state"], first["against"]) == ("good", None)
    assert set(cells(first).values()) == {"not comparable"}
    assert first["verdicts"][0]["reason"] == "there is no earlier good run"


def test_every_night_asks_the_same_questions(nights: Nights) -> None:
    entries = [entry for entry in ledgers.entries(nights.repo.root / "ledger") if entry["state"] != "failed"]
    asked = [{row["id"] for row in ledgers.read(it, "instances.parquet").to_pylist()} for it in entries]
    assert len(asked) == 3 and asked[0] == asked[1] == asked[2] and len(asked[0]) == 20
    for entry in entries:
        facts = entry["stages"]["evaluate@made"]
        assert (facts["limit"], facts["questions"]) == (20, 20) and facts["seconds"] > 0.6


def test_a_regression_is_reported_until_it_is_accepted(nights: Nights, api: Api) -> None:
    first, worse, accepted = (nights.told[name] for name in ("pulled", "worse", "accepted"))
    assert worse["against"] == first["run"], "compared with the failed run"
    verdicts = {cell: "unchanged" for cell in cells(worse)}
    metrics = ("exact_match", "rouge1", "rougeL")
    assert cells(worse) == verdicts | {("model", metric): "worse" for metric in metrics}
    entries = ledgers.entries(nights.repo.root / "ledger")
    asked = {int(row["id"][1:]) for row in ledgers.read(entries[0], "instances.parquet").to_pylist()}
    before, now = (sum(n < strength for n in asked) for strength in (30, 12))
    told = next(row for row in worse["verdicts"] if row["system"] == "model")
    found = (told["before"], told["now"], told["value"], told["worse"])
    assert found == (5 * before, 5 * now, 5 * (now - before), before - now)
    shown(api, worse, told["value"])
    # Read by nobody, beside an entry that cannot be read.
    assert accepted["against"] == first["run"], "compared with the worse run"
    assert accepted["state"] == "good" and accepted["message"].startswith("accepted: made: worse (")
    assert next(ledgers.good(nights.repo.root / "ledger"))["run"] == accepted["run"]
    (line,) = [line for line in nights.errors["accepted"].splitlines() if "nightjar: ledger: " in line]
    folder = f"{nights.repo.root}/ledger/date=2026-01-01/old"
    assert line.startswith(f"nightjar: ledger: skipped {folder}: run.parquet: ")
    lines = (nights.repo.root / ".nightjar/notifications.jsonl").read_text().splitlines()
    events = [(event["kind"], event["run"]) for event in map(json.loads, lines)]
    assert events == [
        (f"nightly {nights.told[name]['state']}", nights.told[name]["run"])
        for name in ("broken", "worse", "nothing there")
    ]
    assert len(json.loads(lines[1])["worse"]) == 3


def test_the_ledger_keeps_every_night(nights: Nights) -> None:
    repo, told = nights.repo, nights.told
    entries = ledgers.entries(repo.root / "ledger")
    states = ["good", "failed", "worse", "good", "failed"]
    assert [entry["run"] for entry in entries] == [night["run"] for night in told.values()]
    assert [entry["state"] for entry in entries] == states
    broken, missing = (entry["message"] for entry in entries if entry["state"] == "failed")
    assert broken.startswith("predict@made-model failed: exit status 3: the model broke; see .nightjar/logs/")
    assert missing.startswith("data/questions/made: not in the local cache (and 1 more); nightjar rebuild, ")
    assert [entry["accepted"] for entry in entries] == [name == "accepted" for name in told]
    assert entries[0]["changed"] == [] and "strength.txt" in entries[2]["changed"]
    assert entries[0]["versions"]["made"] == "1.2" and entries[0]["seed"] == 1
    assert entries[0]["hardware"]["cores"] >= 1 and len(entries[0]["commit"]) == 40
    lock = (repo.root / "dvc.lock").read_bytes()
    assert entries[3]["lock_sha256"] == hashlib.sha256(lock).hexdigest()
    assert ledgers.read(entries[3], "scores.parquet").num_rows == 6
    assert ledgers.read(entries[3], "instances.parquet").num_rows == 120

    listed = repo.nightjar("ledger").stdout
    assert re.findall(r"(?m)^\d{8}T\d{6}Z-\w{6}  (\w+)", listed) == states
    assert json.loads(repo.nightjar("ledger", "--json").stdout)[2]["benchmarks"] == {"made": "worse"}
    one = json.loads(repo.nightjar("ledger", told["worse"]["run"][-6:], "--json").stdout)
    assert len(one["scores"]) == 6 and one["against"] == told["pulled"]["run"]
    assert "accepted: made: worse" in repo.nightjar("ledger", told["accepted"]["run"]).stdout
    assert "data/questions/made: not in the local cache" in repo.nightjar("ledger", "last").stdout
    # The entry that could not be read had a number, and was removed.
    checked = repo.nightjar("ledger", "--check")
    assert checked.stderr == "nightjar: ledger: 1 missing: the last entry has the number 6\n"


def shown(api: Api, told: dict[str, Any], change: float) -> None:
    """The regression as Prefect's own interface sees it."""
    runs = api.ask("flow_runs/filter", flow_runs={"state": {"type": {"any_": ["FAILED"]}}})
    run = next(run for run in runs if run["state"]["message"] == told["message"])
    of_run = {"flow_runs": {"id": {"any_": [run["id"]]}}}
    tasks = wait_for(lambda: api.ask("task_runs/filter", **of_run), what="the tasks")
    assert {task["name"] for task in tasks} == {"predict@made-model", "evaluate@made"}
    artifacts = api.ask("artifacts/filter", artifacts={"flow_run_id": {"any_": [run["id"]]}})
    kept = {item["key"]: item for item in artifacts}
    assert set(kept) == {"nightly"}
    page = kept["nightly"]["data"]
    assert "### made: worse" in page and f"{change:.2f} [" in page
    # It begins with the scores, and their change since the last good night.
    (line,) = [
        line for line in page.partition("## Nightly")[0].splitlines() if line.startswith("| default |")
    ]
    assert page.startswith("### made\n") and re.search(r"\| \d+\.\d (n<20|\[[^]]+\] n 20), -\d+\.\d ", line)


def test_a_slow_decline_fails_a_night_whose_last_step_is_too_small_to_be_seen(
    nights: Nights, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: Api
) -> None:
    root = tmp_path / "repo"
    shutil.copytree(prepared, root)
    monkeypatch.setenv("NIGHT_RUNS", str(tmp_path / "runs"))
    repo, ledger = Repo(root, lambda: api), root / "ledger"
    # Six nights as the first of the others, of a model that loses two answers a night, and then a real one.
    first = ledgers.entries(nights.repo.root / "ledger")[0]
    scores, instances = (
        ledgers.read(first, f"{name}.parquet").to_pylist() for name in ("scores", "instances")
    )
    asked = sorted({row["id"] for row in instances}, key=lambda name: int(name[1:]))
    kept = {key: value for key, value in first.items() if key not in ("path", "sequence", "files", "date")}
    for night in range(6):
        right = {("model", name): 1.0 for name in asked[: len(asked) - 2 * night]}
        changed = [
            row | {"value": right.get((row["system"], row["id"]), 0.0)} if row["system"] == "model" else row
            for row in instances
        ]
        ledgers.append(ledger, kept | {"run": f"{first['run']}-{night}"}, scores, changed, [])

    repo.write(strength=asked[-12][1:])
    repo.dvc("repro", "train")
    done = repo.nightjar("nightly", "--json", timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    told = json.loads(done.stdout)
    rows = {row["metric"]: row for row in told["verdicts"] if row["system"] == "model"}
    for row in rows.values():
        assert (row["before"], row["now"], row["worse"], row["verdict"]) == (50.0, 40.0, 2, "worse")
        assert row["reason"].startswith(f"slow decline since {first['run']}-0, -60.00 over 7 nights, p 0.0")
    assert {row["verdict"] for row in told["verdicts"] if row["system"] == "copy"} == {"unchanged"}
    (event,) = map(json.loads, (root / ".nightjar/notifications.jsonl").read_text().splitlines())
    assert (event["kind"], len(event["worse"])) == ("nightly worse", 3)


def test_started_twice_then_killed_and_started_again(project: Repo, tmp_path: Path) -> None:
    slow, pid_file = tmp_path / "runs.slow", tmp_path / "runs.pid"
    slow.touch()

    def running() -> int | None:
        return int(pid_file.read_text()) if pid_file.exists() and pid_file.read_text() else None

    first = project.start("nightly")
    orphan = wait_for(running, 300, "the stage")
    second = project.nightjar("nightly")
    assert second.returncode == 2
    holder = re.fullmatch(
        r"nightjar: \.nightjar/nightly\.lock: a nightly is running \(process (\d+), since \S+\); .*\n",
        second.stderr,
    )
    assert holder and lives(int(holder[1])), second.stderr
    first.kill()
    first.communicate()
    wait_for(lambda: not lives(orphan) and not lives(int(holder[1])), 10)
    assert (project.root / ".nightjar/nightly").exists()
    slow.unlink()
    done = project.nightjar("nightly", "--json", timeout=300)
    assert (done.returncode, json.loads(done.stdout)["state"]) == (0, "good"), done.stderr
    assert not (project.root / ".nightjar/nightly").exists()
    assert len(ledgers.entries(project.root / "ledger")) == 1
    (told,) = (project.root / ".nightjar/notifications.jsonl").read_text().splitlines()
    assert json.loads(told)["kind"] == "nightly crashed"


def test_a_ledger_that_goes_away_costs_no_night(project: Repo, tmp_path: Path) -> None:
    slow, pid_file = tmp_path / "runs.slow", tmp_path / "runs.pid"
    slow.touch()
    started = project.start("nightly", "--json")
    wait_for(pid_file.exists, 300, "the stage")
    ledger = project.root / "ledger"
    shutil.rmtree(ledger)
    ledger.write_text("a file")
    slow.unlink()
    out, err = started.communicate(timeout=300)
    assert (started.returncode, "Traceback" in err) == (2, False), out + err
    (aside,) = (project.root / ledgers.ASIDE).glob("date=*/*")
    assert (
        f" and is in {aside.relative_to(project.root)}; fix that, and run the night again"
        in err.splitlines()[-1]
    )
    (line,) = (project.root / ".nightjar/notifications.jsonl").read_text().splitlines()
    assert json.loads(line)["message"].endswith(err.splitlines()[-1].removeprefix("nightjar: "))
    entry = next(ledgers.good(project.root / ledgers.ASIDE), None)
    assert entry is not None and json.loads(out)["run"] == entry["run"]
