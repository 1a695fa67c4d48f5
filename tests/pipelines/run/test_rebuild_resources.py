"""Rebuilds within the machine: turns on the GPU and in memory, attempts, and the end of all after a failure."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from tests.pipelines.conftest import Repo, lives, wait_for
from tests.pipelines.run.test_rebuild import lines

pytestmark = pytest.mark.slow

DVC = """
stages:
  gpu:
    foreach: [x, y]
    do:
      cmd: date +%s.%N > ${item}.began; sleep 1; date +%s.%N > ${item}.ended; touch ${item}.out
      meta: {gpu: true, memory: small}
      outs: ["${item}.out"]
  large:
    foreach: [p, q]
    do:
      cmd: date +%s.%N > ${item}.began; sleep 1; date +%s.%N > ${item}.ended; touch ${item}.out
      meta: {memory: huge}
      outs: ["${item}.out"]
  flaky:
    cmd: echo x >> tries; test $(wc -l < tries) -ge 2 && touch f.out || (echo not yet; exit 1)
    meta: {attempts: 3}
    outs: [f.out]
  wrong:
    cmd: echo x >> wrongs; exit 2
    meta: {attempts: 3}
    outs: [w.out]
"""
PARAMS = "rebuild: {jobs: 4, memory_gb: 10, memory_classes: {small: 1, huge: 9}, gpu: always, backoff_seconds: 0.1}\n"


def test_turns_on_the_gpu_and_in_memory_and_attempts(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write(dvc=DVC, params=PARAMS)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = tmp_path / f"nightjar-{os.getuid()}"
    folder.mkdir(mode=0o700)
    with (folder / "gpu.lock").open("w+") as lease:
        fcntl.flock(lease, fcntl.LOCK_EX)
        lease.write('{"stage": "train", "project": "/else/where", "pid": 7, "since": "noon"}')
        lease.flush()
        rebuild = repo.start("rebuild")
        # Whoever waits for the GPU keeps nobody else from starting.
        told = ""
        while "gpu@x: waits for the GPU (held by train of /else/where, process 7, since noon)\n" not in told:
            line = rebuild.stdout.readline()
            assert line, told
            told += line
        wait_for((repo.root / "q.ended").exists, what="the large ones")
        assert not (repo.root / "x.began").exists() and not (repo.root / "y.began").exists()
    out, err = rebuild.communicate(timeout=60)
    assert rebuild.returncode == 1, out + err
    out = told + out
    for first, second in (("x", "y"), ("p", "q")):
        spans = sorted(
            (time_of(repo, f"{item}.began"), time_of(repo, f"{item}.ended")) for item in (first, second)
        )
        assert spans[0][1] <= spans[1][0], f"{first} and {second} ran side by side"
    assert "gpu@y: waits for the GPU (held by train" in out
    assert (repo.root / "tries").read_text() == "x\nx\n"
    assert "flaky: ran " in out and "after 2 attempts (never run)" in out
    assert (repo.root / "wrongs").read_text() == "x\n"
    logs = next((repo.root / ".nightjar/logs").iterdir())
    assert "not yet" in (logs / "flaky.log").read_text()
    assert (logs / "flaky.attempt-2.log").is_file() and not (logs / "wrong.attempt-2.log").exists()


def time_of(repo: Repo, name: str) -> float:
    return float((repo.root / name).read_text())


FAILS = """
stages:
  bad:
    cmd: while ! test -f pid; do sleep 0.1; done; echo bad went wrong; exit 4
    outs: [bad.out]
  long:
    cmd: echo $$ > pid; sleep 300; touch long.out
    outs: [long.out]
  later:
    cmd: touch later.out
    deps: [long.out]
    outs: [later.out]
"""


def test_fail_fast_ends_what_runs_and_starts_nothing_more(repo: Repo) -> None:
    repo.write(dvc=FAILS)
    began = time.monotonic()
    done = repo.nightjar("rebuild", "--fail-fast", timeout=60)
    assert time.monotonic() - began < 45
    assert done.returncode == 1
    assert lines(done)["bad"].startswith("failed exit status 4: bad went wrong")
    assert lines(done)["long"].startswith("stopped ")
    assert lines(done)["later"] == "stopped stopped because bad failed"
    assert done.stderr.endswith("nightjar: rebuild: 1 failed, 2 stopped\n")
    assert not lives(int((repo.root / "pid").read_text()))


def test_a_bad_meta_or_setting_is_one_line_before_anything_starts(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: touch a.out\n    outs: [a.out]\n    meta: {memory: lots}\n")
    done = repo.nightjar("rebuild")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "nightjar: dvc.yaml: stage a: meta.memory = 'lots' is not allowed; "
        "give a class of rebuild.memory_classes; there are: small, large\n"
    )
    repo.write(params="rebuild: {jbos: 2}\n")
    done = repo.nightjar("rebuild")
    assert done.returncode == 2 and "unknown key rebuild.jbos" in done.stderr
    assert not (repo.root / "a.out").exists()
