"""One stage as a group of processes: how it ends, what it says, and that nothing outlives it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from nightjar.core import history
from pipelines.execution import run_stage as stage_runs
from pipelines.execution.run_stage import LineReader, Outcome, run_stage
from pipelines.process import groups
from pipelines.process.identity import alive, identity
from tests.pipelines.conftest import Repo, environment, lives, wait_for, watchdog_of

pytestmark = pytest.mark.slow


def run(repo: Repo, stage: str) -> tuple[Outcome, list[str]]:
    lines: list[str] = []
    outcome = run_stage(stage, repo.root, repo.root / "log" / f"{stage}.log", lines.extend)
    assert not list((repo.root / groups.RUNNING).glob("*"))
    return outcome, lines


@given(st.lists(st.text("ab\r\né→", max_size=12), max_size=8), st.integers(1, 7))
def test_lines_do_not_depend_on_how_the_bytes_arrive(parts: list[str], size: int) -> None:
    text = "".join(parts)
    data = text.encode()
    reader = LineReader()
    lines = [line for at in range(0, len(data), size) for line in reader.feed(data[at : at + size])]
    lines += reader.close()
    pieces = text.split("\n")
    wanted = [
        piece.rstrip("\r").rsplit("\r", 1)[-1].rstrip() for piece in (pieces if pieces[-1] else pieces[:-1])
    ]
    assert lines == wanted


def test_colours_and_endless_lines() -> None:
    reader = LineReader()
    assert reader.feed(b"\x1b[31mred\x1b[0m\n") == ["red"]
    assert [len(line) for line in reader.feed(b"x" * 200_000)] == [65_536] * 3
    assert reader.feed(b"\xff\n")[0].endswith("\ufffd")


def test_dvc_and_stages_get_no_secret_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "NIGHTJAR_WEBHOOK": "https://chat.example/hook",
        "PGPASSWORD": "made-up",
        "PREFECT_API_KEY": "made-up",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": "postgresql+asyncpg://me:made-up@db.example/prefect",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_PROFILE", "the stage's own")
    for found in (stage_runs.environment(), stage_runs.stage_environment()):
        assert sorted(name for name in secrets if name in found) == []
        assert found["AWS_PROFILE"] == "the stage's own"


def test_ran_unchanged_restored_failed(repo: Repo) -> None:
    repo.write(
        dvc="stages:\n"
        "  good:\n    cmd: 'echo one; python bar.py; cp source.txt good.out'\n"
        "    deps: [source.txt]\n    outs: [good.out]\n"
        "  bad:\n    cmd: 'echo fine; echo nightjar: x is wrong >&2; exit 3'\n    outs: [bad.out]\n"
        "  lost:\n    cmd: 'true'\n    deps: [nowhere.txt]\n",
        source="1",
    )
    (repo.root / "bar.py").write_text("print('10%', '90%', '100%', sep='\\r')")
    outcome, lines = run(repo, "good")
    assert (outcome.state, outcome.exit_code, outcome.error) == ("ran", None, None)
    assert lines == ["one", "100%"]
    log = outcome.log.read_text()
    assert "Running stage 'good':" in log and "100%" in log and "90%" not in log
    assert run(repo, "good")[0].state == "unchanged"
    repo.write(source="2")
    assert run(repo, "good")[0].state == "ran"
    repo.write(source="1")
    assert run(repo, "good")[0].state == "restored"
    assert (repo.root / "good.out").read_text() == "1"
    outcome, lines = run(repo, "bad")
    assert (outcome.state, outcome.exit_code, outcome.error) == ("failed", 3, "nightjar: x is wrong")
    assert lines == ["fine", "nightjar: x is wrong"]
    outcome, _ = run(repo, "lost")
    assert outcome.state == "failed" and "nowhere.txt" in (outcome.error or "")
    remembered = [json.loads(line) for line in (repo.root / history.HISTORY).read_text().splitlines()]
    assert [(entry["stage"], entry["status"]) for entry in remembered] == [("good", "done")] * 2


def test_python_is_this_one_and_lines_come_while_it_runs(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    code = "import sys, time; print(sys.executable); time.sleep(2); print(2)"
    repo.write(dvc=f"stages:\n  a:\n    cmd: python -c '{code}'\n")
    heard: list[tuple[float, str]] = []

    def hear(lines: list[str]) -> None:
        heard.extend((time.monotonic(), line) for line in lines)

    run_stage("a", repo.root, repo.root / "a.log", hear)
    assert Path(heard[0][1]).parent == Path(sys.executable).parent
    assert heard[-1][1] == "2" and heard[-1][0] - heard[0][0] > 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1:strict"])
def test_a_command_may_have_characters_that_the_encoding_lacks(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    repo.write(dvc="stages:\n  arrow:\n    cmd: echo é→ | tee a.out\n    outs: [a.out]\n")
    outcome, lines = run(repo, "arrow")
    assert (outcome.state, lines) == ("ran", ["é→"])
    assert (repo.root / "a.out").read_text(encoding="utf-8") == "é→\n"


def test_siblings_side_by_side_lose_no_entry_of_dvc_lock(repo: Repo) -> None:
    names = [f"b@{number}" for number in range(6)]
    repo.write(
        dvc="stages:\n  b:\n    foreach: [0, 1, 2, 3, 4, 5]\n    do:\n"
        "      cmd: cat source.txt > b${item}.out; echo ${item} >> b${item}.out\n"
        '      deps: [source.txt]\n      outs: ["b${item}.out"]\n'
    )
    for turn in "12":
        repo.write(source=turn)
        with ThreadPoolExecutor(6) as pool:
            outcomes = list(
                pool.map(lambda name: run_stage(name, repo.root, repo.root / "log" / name), names)
            )
        assert [outcome.state for outcome in outcomes] == ["ran"] * 6
        locked = YAML(typ="safe").load((repo.root / "dvc.lock").read_text())["stages"]
        for number, name in enumerate(names):
            made = (repo.root / f"b{number}.out").read_bytes()
            assert locked[name]["outs"][0]["md5"] == hashlib.md5(made).hexdigest()
            assert locked[name]["deps"][0]["md5"] == hashlib.md5(turn.encode()).hexdigest()


WRITER = """
import sys, time
from pathlib import Path
from nightjar.core import contracts
from nightjar.core.tables import ArtifactWriter
with ArtifactWriter(Path("artifact")) as writer:
    writer.write(contracts.SPLIT_TASKS, [{"track": "default", "task_id": "t", "role": "train", "reason": ""}])
    Path("begun").touch()
    while not Path("go").exists():
        time.sleep(0.05)
"""


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_killed_in_the_middle_leaves_nothing_half_written_and_runs_again(
    repo: Repo, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", shell)  # DVC runs commands with it; they report a killed command differently
    (repo.root / "writer.py").write_text(WRITER)
    repo.write(dvc="stages:\n  a:\n    cmd: python writer.py\n    deps: [writer.py]\n    outs: [artifact]\n")
    old = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = environment()["PYTHONPATH"]
    try:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(run_stage, "a", repo.root, repo.root / "a.log")
            wait_for((repo.root / "begun").exists)
            for process in psutil.process_iter(["cmdline"]):
                if process.info["cmdline"] == ["python", "writer.py"] and process.cwd() == str(repo.root):
                    process.kill()
            outcome = future.result(20)
        assert (outcome.state, outcome.exit_code) == ("failed", 128 + signal.SIGKILL)
        assert not (repo.root / "artifact").exists()
        assert not (repo.root / "dvc.lock").exists()
        (repo.root / "go").touch()
        assert run(repo, "a")[0].state == "ran"
    finally:
        os.environ.pop("PYTHONPATH")
        if old is not None:
            os.environ["PYTHONPATH"] = old
    assert (repo.root / "artifact" / "rejected.parquet").is_file()
    assert not list(repo.root.glob(".artifact.tmp-*"))


STUBBORN = (
    "trap '' TERM; (trap '' TERM; sleep 300 & echo $! > child; wait) & echo $! > parent; wait; sleep 300"
)


def test_stopping_ends_the_whole_group_even_if_it_does_not_listen(repo: Repo) -> None:
    repo.write(dvc=f'stages:\n  a:\n    cmd: "{STUBBORN}"\n    outs: [a.out]\n')
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(run_stage, "a", repo.root, repo.root / "a.log", None, stop, 1.0)
        child = int(wait_for(lambda: _text(repo.root / "child")))
        began = time.monotonic()
        stop.set()
        outcome = future.result(20)
    assert outcome.state == "stopped" and time.monotonic() - began < 6
    wait_for(lambda: not lives(child), 2)


ORCHESTRATOR = """
from pathlib import Path
from pipelines.execution.run_stage import run_stage
run_stage("a", Path(), Path("a.log"))
"""


def _orchestrator(repo: Repo) -> tuple[subprocess.Popen[bytes], int, int]:
    """A process that runs a stage, the stage's own process, and the orchestrator's watchdog."""
    repo.write(dvc='stages:\n  a:\n    cmd: "echo $$ > pid; sleep 300"\n    outs: [a.out]\n')
    process = subprocess.Popen([sys.executable, "-c", ORCHESTRATOR], cwd=repo.root, env=environment())
    pid = int(wait_for(lambda: _text(repo.root / "pid")))
    return process, pid, watchdog_of(process.pid)


def test_a_killed_orchestrator_leaves_nothing_running(repo: Repo) -> None:
    process, pid, guard = _orchestrator(repo)
    process.kill()
    process.wait()
    wait_for(lambda: not lives(pid), 10)
    wait_for(lambda: not lives(guard), 5)
    assert json.loads((repo.root / ".dvc/tmp/rwlock").read_text()) == {"read": {}, "write": {}}
    assert not list((repo.root / groups.RUNNING).glob("*"))


def test_what_is_left_when_the_watchdog_was_killed_too_is_ended_at_the_next_start(repo: Repo) -> None:
    process, pid, guard = _orchestrator(repo)
    assert groups.end_orphans(repo.root) == [] and lives(pid)  # its owner lives
    os.kill(guard, signal.SIGKILL)
    process.kill()
    process.wait()
    assert lives(pid)
    reserved = repo.root / ".dvc/tmp/rwlock"
    assert str(repo.root / "a.out") in json.loads(reserved.read_text())["write"]
    assert groups.end_orphans(repo.root, lock=repo.root / groups.DVC_LOCK) == ["a"]
    wait_for(lambda: not lives(pid), 2)
    assert json.loads(reserved.read_text()) == {"read": {}, "write": {}}
    assert not list((repo.root / groups.RUNNING).glob("*"))


def test_an_orchestrator_killed_before_it_knew_the_group_loses_no_process(tmp_path: Path) -> None:
    process, group = groups.start(["sleep", "300"], tmp_path, dict(os.environ), "early")
    try:
        facts = json.loads(group.record.read_text())
        facts |= {"group": None, "started": "", "owner_started": "another"}
        group.record.write_text(json.dumps(facts))
        assert groups.end_orphans(tmp_path) == ["early"]
        assert process.wait(5) == -signal.SIGTERM
    finally:
        process.kill()


def test_a_later_process_with_the_same_number_is_left_alone(tmp_path: Path) -> None:
    process, group = groups.start(["sleep", "300"], tmp_path, dict(os.environ), "innocent")
    try:
        facts = json.loads(group.record.read_text())
        assert facts["started"] == identity(process.pid)
        facts |= {"marker": "another", "started": "another", "owner": 999999999}
        group.record.write_text(json.dumps(facts))
        (group.record.parent / "1.json").write_text("{half")
        assert groups.end_orphans(tmp_path) == []
        assert process.poll() is None
        assert not list((tmp_path / groups.RUNNING).glob("*"))
    finally:
        process.kill()
        process.wait()


def test_processes_are_told_apart_by_what_no_clock_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen(["sleep", "300"])
    try:
        known = identity(process.pid)
        assert known.startswith(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        began = psutil.Process(process.pid).create_time()
        # The clock jumps: the kernel's time of boot, to which psutil adds, jumps with it.
        monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: psutil.boot_time() - 86_400.0)
        monkeypatch.setattr(time, "time", lambda: began + 86_400.0)
        assert alive(process.pid, known)
        assert not alive(os.getpid(), known)
    finally:
        process.kill()
    wait_for(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
    assert identity(process.pid) == known and not alive(process.pid, known)
    process.wait()
    assert identity(process.pid) == "" and not alive(process.pid, "")


def _text(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def test_a_stage_waits_for_the_files_that_another_dvc_process_has_reserved(repo: Repo) -> None:
    repo.write(
        dvc="stages:\n"
        "  a:\n    cmd: 'touch begun; while ! test -e go; do sleep 0.05; done; echo a > a.out'\n    outs: [a.out]\n"
        "  b:\n    cmd: cp a.out b.out\n    deps: [a.out]\n    outs: [b.out]\n"
    )
    (repo.root / "a.out").write_text("old")
    command = [sys.executable, "-m", "dvc", "repro", "--quiet", "a"]
    with subprocess.Popen(command, cwd=repo.root, env=environment()) as other:
        wait_for((repo.root / "begun").exists)
        lines: dict[str, list[str]] = {"a": [], "b": []}
        stop = threading.Event()

        def start(stage: str, stop: threading.Event) -> Outcome:
            return run_stage(stage, repo.root, repo.root / "log" / stage, lines[stage].extend, stop)

        with ThreadPoolExecutor() as threads:
            stopped = threads.submit(start, "b", stop)
            wait_for(lambda: lines["b"])
            stop.set()
            assert stopped.result().state == "stopped"
            waits = threads.submit(start, "a", threading.Event())
            wait_for(lambda: lines["a"])
            (repo.root / "go").touch()
            assert (waits.result().state, other.wait()) == ("unchanged", 0)
    told = f"waits for another DVC process (process {other.pid}: "
    assert lines["a"][0].startswith(told) and "didn't change" in lines["a"][1] and len(lines["a"]) == 2
    assert run(repo, "b")[0].state == "ran"
