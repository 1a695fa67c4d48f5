"""What a rebuild does when it, its server or the disk fails: real processes, real signals."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.prefect_view import server as servers
from pipelines.process import lock
from tests.pipelines.conftest import Api, Repo, environment, lend_database, lives, wait_for

pytestmark = pytest.mark.slow

# A stage that writes for a minute, after one that is done, before one that waits. Like the project's own stages it
# puts its output in place when it is whole.
DVC = """
stages:
  quick:
    cmd: echo done > quick.out
    outs: [quick.out]
  slow:
    cmd: echo $$ > pid; for i in $(seq 600); do echo $i >> slow.tmp; sleep 0.1; done; mv slow.tmp slow.out
    deps: [quick.out]
    outs: [slow.out]
  last:
    cmd: cp slow.out last.out
    deps: [slow.out]
    outs: [last.out]
"""
UNRECORDED = Path(".nightjar/unrecorded")


def pid(repo: Repo) -> int:
    path = repo.root / "pid"
    text: str = wait_for(lambda: path.exists() and path.read_text().strip(), 60, "the stage")
    path.unlink()
    return int(text)


def run_of(api: Api, repo: Repo) -> dict[str, Any]:
    """The last flow run whose logs lie in the repository."""
    names = [path.name for path in (repo.root / ".nightjar/logs").iterdir()]
    asked = {"flow_runs": {"name": {"any_": names}}, "sort": "EXPECTED_START_TIME_DESC"}
    run: dict[str, Any] = api.ask("flow_runs/filter", **asked)[0]
    return run


def task_states(api: Api, run: dict[str, Any]) -> dict[str, str]:
    tasks = api.ask("task_runs/filter", flow_runs={"id": {"any_": [run["id"]]}})
    return {task["name"]: task["state"]["type"] for task in tasks}


def assert_nothing_is_left(repo: Repo, stage: int, seconds: float) -> None:
    """No child, no half-written output, and a dvc.lock that names what is done and no more."""
    assert seconds < 10
    assert not lives(stage)
    assert not (repo.root / "slow.out").exists() and not (repo.root / "last.out").exists()
    from ruamel.yaml import YAML

    assert set(YAML(typ="safe").load((repo.root / "dvc.lock").read_text())["stages"]) == {"quick"}


@pytest.mark.parametrize("forced", [False, True])
def test_cancel_in_the_ui_ends_a_run_that_was_started_from_a_terminal(
    repo: Repo, api: Api, forced: bool
) -> None:
    api.serve(repo)
    repo.write(dvc=DVC)
    rebuild = repo.start("rebuild")
    stage = pid(repo)
    run = run_of(api, repo)
    began = time.monotonic()
    # What the page sends; and what somebody sends who does not wait for the run to end in order.
    state = {"type": "CANCELLED" if forced else "CANCELLING", "name": "Cancelled" if forced else "Cancelling"}
    api.ask(f"flow_runs/{run['id']}/set_state", state=state, force=forced)
    wait_for(lambda: not lives(stage), 10)
    seconds = time.monotonic() - began
    out, err = rebuild.communicate(timeout=30)
    assert (rebuild.returncode, err) == (130, "nightjar: rebuild: 1 ran, 2 stopped\n"), out
    assert_nothing_is_left(repo, stage, seconds)
    assert run_of(api, repo)["state"]["type"] == "CANCELLED"
    assert task_states(api, run) == {"quick": "COMPLETED", "slow": "CANCELLED"}
    assert not list((repo.root / UNRECORDED).iterdir())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_a_rebuild_that_dies_takes_its_stages_along_and_is_known_to_have_crashed(
    repo: Repo, api: Api, number: signal.Signals
) -> None:
    api.serve(repo)
    repo.write(dvc=DVC)
    rebuild = repo.start("rebuild")
    stage = pid(repo)
    run = run_of(api, repo)
    began = time.monotonic()
    rebuild.send_signal(number)
    wait_for(lambda: not lives(stage), 10)
    seconds = time.monotonic() - began
    rebuild.communicate(timeout=30)
    assert_nothing_is_left(repo, stage, seconds)
    if number == signal.SIGHUP:
        assert run_of(api, repo)["state"]["type"] == "CANCELLED"
        return
    assert run_of(api, repo)["state"]["type"] == "RUNNING"
    assert repo.nightjar("rebuild", "quick").returncode == 0
    repo.write(dvc=DVC.replace("echo done", "echo again"))
    assert repo.nightjar("rebuild", "quick").returncode == 0
    assert api.ask("flow_runs/filter", flow_runs={"id": {"any_": [run["id"]]}})[0]["state"]["message"] == (
        "its process was killed"
    )
    assert task_states(api, run) == {"quick": "COMPLETED", "slow": "CRASHED"}


FILLER = """
stages:
  first:
    cmd: echo first > first.out
    outs: [first.out]
  filler:
    cmd: cat first.out; test -e {mended} || head -c 100M /dev/zero > filler.tmp && echo all > filler.out
    deps: [first.out]
    outs: [filler.out]
  beside:
    cmd: cat first.out; sleep 4; echo beside > beside.out
    deps: [first.out]
    outs: [beside.out]
"""


@pytest.fixture()
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MB."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(path)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_a_full_disk_fails_the_stages_that_need_room_and_the_next_rebuild_goes_on(
    empty_repo: Path, small_disk: Path, tmp_path: Path, api: Api
) -> None:
    root = small_disk / "repo"
    shutil.copytree(empty_repo, root)
    repo = Repo(root)
    api.serve(repo)
    mended = tmp_path / "mended"
    repo.write(dvc=FILLER.format(mended=mended))
    full = repo.nightjar("rebuild", "--jobs", "2", timeout=200)
    assert (full.returncode, "Traceback" in full.stdout + full.stderr) == (1, False), full.stderr
    assert re.search(r"^filler: failed .*No space left on device", full.stdout, re.MULTILINE)
    assert "first:" in (root / "dvc.lock").read_text() or (root / "dvc.lock").stat().st_size == 0
    # There is room again, and what DVC left of dvc.lock is torn: as a full disk leaves it at worst.
    (root / "filler.tmp").unlink()
    mended.touch()
    (root / "dvc.lock").write_text((root / "dvc.lock").read_text()[:40])
    again = repo.nightjar("rebuild", timeout=200)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "dvc.lock was torn: its last copy is in its place\n" in again.stdout
    assert "first: cached" in again.stdout
    assert repo.nightjar("rebuild").stdout == "Nothing to do: 3 stages are up to date.\n"
    assert not [path for path in (root / ".nightjar").rglob(".*.tmp-*")]


def test_the_second_of_two_rebuilds_is_skipped_in_prefect_too(repo: Repo, api: Api) -> None:
    repo.write(dvc=DVC)
    api.serve(repo)
    code = (
        "from pathlib import Path; from pipelines.prefect_view import server\n"
        "server.use(Path.cwd(), server.find(Path.cwd()))\n"
        "from pipelines.rebuild.flow import flush, rebuild\n"
        "state = rebuild(return_state=True); print(state.type.value, state.name, state.message); flush()"
    )
    with lock.rebuild_lock(repo.root):
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=repo.root, env=environment(), capture_output=True, text=True, timeout=90
        )
    told = rf"CANCELLED Skipped .*a rebuild is running \(process {os.getpid()}, since .*\n"
    assert re.fullmatch(told, done.stdout), done.stdout + done.stderr


AWAY = """
stages:
  a:
    cmd: touch begun; while ! test -e go; do sleep 0.1; done; echo a > a.out
    outs: [a.out]
  b:
    cmd: cp a.out b.out
    deps: [a.out]
    outs: [b.out]
"""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_goes_away_stops_no_stage(repo: Repo, tables: Path, number: signal.Signals) -> None:
    lend_database(tables, repo.root)
    repo.write(dvc=AWAY)
    started = servers.free_port()
    assert repo.nightjar("ui", "--background", "--port", str(started)).returncode == 0
    server = servers.find(repo.root)
    assert server is not None
    rebuild = repo.start("rebuild", AWAY_SECONDS=5.0)
    wait_for((repo.root / "begun").exists, 60, "the stage")
    os.killpg(server.pid, number)
    time.sleep(4)  # it is seen to be away
    (repo.root / "go").touch()
    wait_for((repo.root / "b.out").exists, 60, "the stage after it")
    out, err = rebuild.communicate(timeout=200)
    assert (rebuild.returncode, err) == (
        0,
        "nightjar: rebuild: the Prefect server is away: the next run records this one "
        "(kept in .nightjar/unrecorded)\n",
    ), out
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    (kept,) = (repo.root / UNRECORDED).glob("*.json")
    if number == signal.SIGSTOP:
        return  # from here on all is as after SIGKILL
    repo.write(dvc=AWAY.replace("echo a", "echo again"))
    # This one has a server of its own, which is killed: it is started again, and told all.
    (repo.root / "begun").unlink()
    (repo.root / "go").unlink()
    rebuild = repo.start("rebuild")
    wait_for((repo.root / "begun").exists, 90, "the stage")
    own = wait_for(lambda: servers.find(repo.root), what="its server")
    os.killpg(own.pid, signal.SIGKILL)
    time.sleep(2)
    (repo.root / "go").touch()
    out, err = rebuild.communicate(timeout=200)
    assert (rebuild.returncode, err) == (0, ""), out
    assert not list((repo.root / UNRECORDED).iterdir())
    with sqlite3.connect(repo.root / servers.HOME / "prefect.db") as database:
        runs = database.execute("select id, state_type from flow_run").fetchall()
        tasks = database.execute("select name, state_type from task_run order by name").fetchall()
    assert sorted(state for _, state in runs) == ["COMPLETED", "COMPLETED"]
    assert kept.stem in {str(uuid.UUID(run)) for run, _ in runs}
    assert tasks == [(name, "COMPLETED") for name in ("a", "a", "b", "b")]
