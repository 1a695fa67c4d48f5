"""DVC processes that wait for orders: what they do then, what stands in the list, and that none stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from dvc.lock import DEFAULT_TIMEOUT, Lock, LockError

from pipelines.execution import dvc_ready
from pipelines.execution.ready import NAME, Pool, ahead
from pipelines.execution.run_stage import run_stage, stage_environment
from pipelines.process import groups
from tests.pipelines.conftest import Repo, environment, lives, wait_for

pytestmark = pytest.mark.slow


def listed(root: Path) -> dict[int, str]:
    facts = [json.loads(path.read_text()) for path in (root / groups.RUNNING).glob("*.json")]
    return {int(fact["group"]): str(fact["name"]) for fact in facts}


def test_a_stage_in_a_process_that_was_ready(repo: Repo) -> None:
    repo.write(
        dvc="stages:\n  a:\n    cmd: cat; echo $PPID; cp source.txt a.out\n    deps: [source.txt]\n    outs: [a.out]\n"
    )
    repo.write(source="1")
    pool = Pool(repo.root, stage_environment())
    for _ in range(3):
        pool.fill(2)
    first, second = sorted(listed(repo.root))
    assert set(listed(repo.root).values()) == {NAME}
    os.kill(first, signal.SIGKILL)  # one that is gone is not used
    wait_for(lambda: not lives(first))
    lines: list[str] = []
    lease = repo.root / "lease"
    lease.write_text("held\n")
    with lease.open() as held:
        outcome = run_stage(
            "a", repo.root, repo.root / "a.log", lines.extend, lease=held.fileno(), ready=pool
        )
    assert outcome.state == "ran"
    assert lines == ["held", str(second)]
    assert "Running stage 'a':" in outcome.log.read_text()
    assert (
        run_stage("a", repo.root, repo.root / "a.log", ready=pool).state == "unchanged"
    )  # the pool was empty
    pool.fill(1)
    (left,) = listed(repo.root)
    pool.close()
    assert not lives(left) and not listed(repo.root)


@pytest.mark.parametrize("wait", [True, False])
def test_a_lock_of_dvc_is_tried_often_and_as_long_as_dvc_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait: bool
) -> None:
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds
        if wait and clock[0] > 2 * DEFAULT_TIMEOUT:
            held.unlock()

    monkeypatch.setattr(dvc_ready, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    held, wanted = Lock(str(tmp_path / "lock")), Lock(str(tmp_path / "lock"), wait=wait)
    held.lock()
    if wait:
        dvc_ready.acquire(wanted)
        assert wanted.is_locked and clock[0] == pytest.approx(2 * DEFAULT_TIMEOUT, abs=0.05)
    else:
        with pytest.raises(LockError):
            dvc_ready.acquire(wanted)
        assert clock[0] == pytest.approx(DEFAULT_TIMEOUT, abs=0.05)


def test_begun_ahead_of_the_rebuild_that_takes_them(repo: Repo) -> None:
    repo.write(dvc="stages: {}\n")
    with ahead(repo.root, stage_environment(), 2):
        assert len(listed(repo.root)) == 2
        pool = Pool.of(repo.root, {})
        started = pool.take("a", ["--version"], None)
        assert started is not None
        assert sorted(listed(repo.root).values()) == ["a", NAME]
        assert Pool.of(repo.root, {}) is not pool
    assert list(listed(repo.root).values()) == ["a"]
    process, group = started
    assert process.communicate(timeout=60)[0].decode().startswith("3.")
    groups.forget(group)


HOLDS = """
import sys, time
from pathlib import Path
from pipelines.execution.ready import Pool
from pipelines.execution.run_stage import stage_environment
pool = Pool(Path(), stage_environment())
pool.fill(1)
Path("begun").touch()
time.sleep(300)
"""


def test_it_ends_when_its_holder_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDS], cwd=tmp_path, env=environment())
    wait_for((tmp_path / "begun").exists)
    (ready,) = listed(tmp_path)
    assert lives(ready)
    holder.kill()
    holder.wait()
    wait_for(lambda: not lives(ready), 10, "its end")
