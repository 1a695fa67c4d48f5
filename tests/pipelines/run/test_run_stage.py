"""One stage as a group of processes: how it ends, what it says, and that nothing outlives it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from dvc.lock import Lock
from hypothesis import given
from hypothesis import strategies as st

from nightjar.core import paths
from pipelines.graph import dvc_worker
from pipelines.process.child import Output
from pipelines.run.results import Result
from pipelines.run.run_stage import Stages
from tests.pipelines.conftest import Repo, environment, lives, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture()
def stages(repo: Repo) -> Iterator[Stages]:
    with Stages(repo.root) as stages:
        yield stages


def run(repo: Repo, stages: Stages, stage: str) -> tuple[Result, list[str]]:
    lines: list[str] = []
    outcome = stages.run(stage, repo.root / "log" / f"{stage}.log", lines.extend)
    assert reserved(repo) == []
    return outcome, lines


def reserved(repo: Repo) -> list[str]:
    """The paths that DVC has reserved for a process."""
    path = repo.root / ".dvc/tmp/rwlock"
    found = json.loads(path.read_text()) if path.exists() else {}
    return [name for paths in found.values() for name in paths]


@given(st.lists(st.text("ab\r\né→", max_size=12), max_size=8), st.integers(1, 7))
def test_lines_do_not_depend_on_how_the_bytes_arrive(parts: list[str], size: int) -> None:
    text = "".join(parts)
    pieces = text.split("\n")
    wanted = [
        piece.rstrip("\r").rsplit("\r", 1)[-1].rstrip() for piece in (pieces if pieces[-1] else pieces[:-1])
    ]
    assert heard(text.encode(), size) == wanted


def heard(data: bytes, size: int = 65_536) -> list[str]:
    """The lines of an output that arrives in pieces of so many bytes."""
    reading, writing = os.pipe()
    written = threading.Event()

    def write() -> None:
        with open(writing, "wb", buffering=0) as file:
            for at in range(0, len(data), size):
                file.write(data[at : at + size])
        written.set()

    with open(reading, "rb", buffering=0) as stream, ThreadPoolExecutor(1) as pool:
        pool.submit(write)
        code = lambda: 0 if written.is_set() else None  # noqa: E731
        command: Any = SimpleNamespace(stdout=stream, poll=code, close=lambda: 0)
        with tempfile.NamedTemporaryFile() as log, Output(Path(log.name)) as output:
            assert output.follow(command, threading.Event()) == 0
            return log.read().decode().split("\n")[:-1]


def test_colours_and_endless_lines() -> None:
    assert heard(b"\x1b[31mred\x1b[0m\n") == ["red"]
    assert heard(b"\xff\n")[0].endswith("\ufffd")
    lines = heard(b"x" * 200_000)
    assert len(lines) > 1 and "".join(lines) == "x" * 200_000


def test_ran_unchanged_restored_failed(repo: Repo, stages: Stages) -> None:
    repo.write(
        dvc="stages:\n"
        "  good:\n    cmd: 'echo one; python bar.py; cp source.txt good.out'\n"
        "    deps: [source.txt]\n    outs: [good.out]\n"
        "  bad:\n    cmd: 'echo fine; echo nightjar: x is wrong >&2; exit 3'\n    outs: [bad.out]\n"
        "  lost:\n    cmd: 'true'\n    deps: [nowhere.txt]\n",
        source="1",
    )
    (repo.root / "bar.py").write_text("print('10%', '90%', '100%', sep='\\r')")
    outcome, lines = run(repo, stages, "good")
    assert (outcome.state, outcome.exit_code, outcome.error) == ("ran", None, "")
    assert lines == ["one", "100%"]
    log = Path(outcome.log).read_text()
    assert "Running stage 'good':" in log and "100%" in log and "90%" not in log
    assert run(repo, stages, "good")[0].state == "unchanged"
    repo.write(source="2")
    assert run(repo, stages, "good")[0].state == "ran"
    repo.write(source="1")
    assert run(repo, stages, "good")[0].state == "restored"
    assert (repo.root / "good.out").read_text() == "1"
    outcome, lines = run(repo, stages, "bad")
    assert (outcome.state, outcome.exit_code, outcome.error) == ("failed", 3, "nightjar: x is wrong")
    assert lines == ["fine", "nightjar: x is wrong"]
    outcome, _ = run(repo, stages, "lost")
    assert outcome.state == "failed" and "nowhere.txt" in outcome.error
    remembered = [json.loads(line) for line in (repo.root / paths.HISTORY).read_text().strip().splitlines()]
    assert [entry["stage"] for entry in remembered] == ["good"] * 2


def test_python_is_this_one_and_lines_come_while_it_runs(
    repo: Repo, stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    code = "import sys, time; print(sys.executable); time.sleep(2); print(2)"
    repo.write(dvc=f"stages:\n  a:\n    cmd: python -c '{code}'\n")
    heard: list[tuple[float, str]] = []

    def hear(lines: list[str]) -> None:
        heard.extend((time.monotonic(), line) for line in lines)

    stages.run("a", repo.root / "a.log", hear)
    assert Path(heard[0][1]).parent == Path(sys.executable).parent
    assert heard[-1][1] == "2" and heard[-1][0] - heard[0][0] > 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1:strict"])
def test_a_command_may_have_characters_that_the_encoding_lacks(
    repo: Repo, stages: Stages, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    repo.write(dvc="stages:\n  arrow:\n    cmd: echo é→ | tee a.out\n    outs: [a.out]\n")
    outcome, lines = run(repo, stages, "arrow")
    assert (outcome.state, lines) == ("ran", ["é→"])
    assert (repo.root / "a.out").read_text(encoding="utf-8") == "é→\n"


def log_of(repo: Repo, stages: Stages, name: str) -> Result:
    return stages.run(name, repo.root / "log" / name)


ORCHESTRATOR = """
from pathlib import Path
from pipelines.run.run_stage import Stages
Stages(Path()).run("a", Path("a.log"))
"""


def test_a_killed_orchestrator_leaves_nothing_running_and_nothing_reserved(repo: Repo) -> None:
    repo.write(dvc='stages:\n  a:\n    cmd: "echo $$ > pid; sleep 300"\n    outs: [a.out]\n')
    process = subprocess.Popen([sys.executable, "-c", ORCHESTRATOR], cwd=repo.root, env=environment())
    pid = int(wait_for(lambda: _text(repo.root / "pid")))
    children = [child.pid for child in psutil.Process(process.pid).children()]
    assert len(children) == 2, "the worker and the guard"
    assert str(repo.root / "a.out") in reserved(repo)
    process.kill()
    process.wait()
    wait_for(lambda: not any(map(lives, [pid, *children])), 10)
    assert reserved(repo) == []
    assert not (repo.root / "dvc.lock").exists()


def test_a_killed_worker_fails_its_stage_and_the_next_stage_gets_another(repo: Repo, stages: Stages) -> None:
    command = "touch begun; while ! test -e go; do sleep 0.05; done; echo a > a.out"
    repo.write(dvc=f"stages:\n  a:\n    cmd: '{command}'\n    outs: [a.out]\n")
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(log_of, repo, stages, "a")
        wait_for((repo.root / "begun").exists)
        (worker,) = (
            child
            for child in psutil.Process().children()
            if dvc_worker.__file__ in child.cmdline() and child.cwd() == str(repo.root)
        )
        worker.kill()
        (repo.root / "go").touch()
        outcome = future.result(30)
        assert (outcome.state, outcome.error) == ("failed", "the process that runs DVC was killed")
        assert log_of(repo, stages, "a").state == "ran"


def test_a_list_of_commands_ends_at_the_first_that_fails(repo: Repo, stages: Stages) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: [echo one, 'echo two; exit 4', echo three]\n    outs: [a.out]\n")
    outcome, lines = run(repo, stages, "a")
    assert (outcome.state, outcome.exit_code, outcome.error, lines) == ("failed", 4, "two", ["one", "two"])


def test_what_a_command_has_of_dvc(repo: Repo, stages: Stages) -> None:
    (repo.root / "sub").mkdir()
    command = "env | grep ^DVC_ | sort > env.out; pwd >> env.out; cat >> env.out"
    repo.write(
        dvc=f"stages:\n  a:\n    cmd: '{command}'\n    wdir: sub\n    outs: [env.out]\n", lease="lease"
    )
    with (repo.root / "lease.txt").open() as lease:
        assert stages.run("a", repo.root / "a.log", lease=lease.fileno()).state == "ran"
    ours = (repo.root / "sub/env.out").read_text()
    assert ours.endswith("lease")
    repo.dvc("repro", "--force", "a")
    assert ours.removesuffix("lease") == (repo.root / "sub/env.out").read_text()


def _text(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def test_a_stage_waits_for_the_files_that_another_dvc_process_has_reserved(
    repo: Repo, stages: Stages
) -> None:
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

        def start(stage: str, stop: threading.Event) -> Result:
            return stages.run(stage, repo.root / "log" / stage, lines[stage].extend, stop)

        with ThreadPoolExecutor() as threads:
            stopped = threads.submit(start, "b", stop)
            wait_for(lambda: lines["b"])
            stop.set()
            assert stopped.result().state == "stopped"
            waits = threads.submit(start, "a", threading.Event())
            wait_for(lambda: lines["a"])
            (repo.root / "go").touch()
            assert (waits.result().state, other.wait()) == ("unchanged", 0)
    (told,) = lines["a"]
    assert told.startswith(f"waits for another DVC process (process {other.pid}: ")


def test_a_stage_that_waits_for_the_lock_of_dvc_can_be_stopped(repo: Repo, stages: Stages) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: touch a.out\n    outs: [a.out]\n")
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with Lock(repo.root / ".dvc/tmp/lock", wait=True):
            future = pool.submit(stages.run, "a", repo.root / "a.log", None, stop)
            stop.set()
            assert future.result(30).state == "stopped"
        assert log_of(repo, stages, "a").state == "ran"


def test_force_runs_in_any_case_and_adds_nothing_to_the_cache(repo: Repo, stages: Stages) -> None:
    repo.write(
        dvc="stages:\n  a:\n    cmd: echo run >> runs; cp source.txt a.out\n"
        "    deps: [source.txt]\n    outs: [a.out]\n",
        source="1",
    )
    assert run(repo, stages, "a")[0].state == "ran"
    kept = sorted((repo.root / ".dvc/cache").rglob("*"))
    repo.write(source="2")
    for _ in range(2):
        assert stages.run("a", repo.root / "a.log", force=True).state == "ran"
    assert (repo.root / "runs").read_text() == "run\n" * 3
    assert sorted((repo.root / ".dvc/cache").rglob("*")) == kept
    assert hashlib.md5(b"2").hexdigest() in (repo.root / "dvc.lock").read_text()
