"""What a rebuild does when it, its server or the disk fails: real processes, real signals."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightjar.core import paths
from nightjar.core.config import read_yaml
from nightjar.params.drivers import Nightly
from pipelines.serving import flow_runs
from pipelines.serving import server as servers
from pipelines.serving.flow_runs import Api as ServerApi
from tests.pipelines.conftest import COMMIT_LOCK, Api, Repo, lend_database, lives, run_of, stage_pid, wait_for

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
RUNS = Path(".nightjar/runs")


def task_states(api: Api, run: dict[str, Any]) -> dict[str, str]:
    tasks = api.ask("task_runs/filter", flow_runs={"id": {"any_": [run["id"]]}})
    # A task that was just made has no state yet.
    return {task["name"]: (task["state"] or {"type": "PENDING"})["type"] for task in tasks}


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
    stage = stage_pid(repo)
    run = run_of(api, repo)
    began = time.monotonic()
    # What the page sends; and what somebody sends who does not wait for the run to end in order.
    state = {"type": "CANCELLED" if forced else "CANCELLING", "name": "Cancelled" if forced else "Cancelling"}
    api.ask(f"flow_runs/{run['id']}/set_state", state=state, force=forced)
    wait_for(lambda: not lives(stage), 10)
    seconds = time.monotonic() - began
    out, err = rebuild.communicate(timeout=30)
    assert rebuild.returncode == 130, out + err
    assert err.endswith("nightjar: rebuild: 1 ran, 2 stopped; ended while running: slow\n"), out + err
    assert_nothing_is_left(repo, stage, seconds)
    assert run_of(api, repo)["state"]["type"] == "CANCELLED" and not list((repo.root / RUNS).iterdir())
    states = task_states(api, run)
    assert (states["quick"], states["slow"]) == ("COMPLETED", "CANCELLED")


# Stages that share the memory of one, and one that a tag with one slot keeps from beginning.
WAITING = """
stages:
  first:
    cmd: echo $$ > pid; sleep 60; touch first.out
    outs: [first.out]
    meta: {memory: all}
  second:
    cmd: touch second.out
    outs: [second.out]
    meta: {memory: all}
  tagged:
    foreach: [x, y]
    do:
      cmd: sleep 60; touch ${item}.out
      outs: ["${item}.out"]
"""
ALL_MEMORY = "rebuild: {memory_gb: 4, memory_classes: {all: 4}, jobs: 4}\n"


def test_a_stage_that_waits_is_no_running_task_and_is_cancelled_with_its_run(repo: Repo, api: Api) -> None:
    api.serve(repo)
    api.ask("concurrency_limits/", tag="tagged", concurrency_limit=1)
    repo.write(dvc=WAITING, params=ALL_MEMORY)
    rebuild = repo.start("rebuild")
    stage_pid(repo)
    run = run_of(api, repo)
    wait_for(lambda: list(task_states(api, run).values()).count("RUNNING") == 2, what="the stages")
    states = task_states(api, run)
    assert states.pop("second", "PENDING") == "PENDING"
    assert sorted(states.values()) == ["PENDING", "RUNNING", "RUNNING"]
    api.ask(f"flow_runs/{run['id']}/set_state", state={"type": "CANCELLING", "name": "Cancelling"})
    out, err = rebuild.communicate(timeout=30)
    assert rebuild.returncode == 130 and "Traceback" not in out + err, out + err
    ended = run_of(api, repo)["state"]
    assert (ended["type"], ended["message"]) == ("CANCELLED", "4 stopped")
    assert set(task_states(api, run).values()) == {"CANCELLED"}
    assert "Crash" not in str(api.ask("logs/filter", logs={"flow_run_id": {"any_": [run["id"]]}}))


def test_a_rebuild_that_is_killed_takes_its_stages_along_and_is_known_to_have_crashed(
    repo: Repo, api: Api
) -> None:
    api.serve(repo)
    repo.write(dvc=DVC)
    rebuild = repo.start("rebuild")
    stage = stage_pid(repo)
    run = run_of(api, repo)
    began = time.monotonic()
    rebuild.kill()
    wait_for(lambda: not lives(stage), 10)
    seconds = time.monotonic() - began
    rebuild.communicate(timeout=30)
    assert_nothing_is_left(repo, stage, seconds)
    assert list((repo.root / RUNS).iterdir())
    flow_runs.settle(repo.root, ServerApi(api.server.url))  # as the next run does
    event = json.loads((repo.root / Nightly().notifications).read_text())
    assert (event["kind"], event["run"]) == ("rebuild crashed", run["id"])
    assert run_of(api, repo)["state"]["type"] == "CRASHED" and not list((repo.root / RUNS).iterdir())


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
    empty_repo: Path, small_disk: Path, tmp_path: Path
) -> None:
    root = small_disk / "repo"
    shutil.copytree(empty_repo, root)
    repo = Repo(root)
    mended = tmp_path / "mended"
    repo.write(dvc=FILLER.format(mended=mended))
    full = repo.nightjar("rebuild", "--jobs", "2", timeout=200)
    assert (full.returncode, "Traceback" in full.stdout + full.stderr) == (1, False), full.stderr
    assert re.search(r"  failed .*  filler  .*No space left on device", full.stdout, re.MULTILINE)
    lock = root / "dvc.lock"
    assert not lock.exists() or set(read_yaml(lock)["stages"]) <= {"first"}
    (root / "filler.tmp").unlink()  # there is room again
    mended.touch()
    again = repo.nightjar("rebuild", timeout=200)
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.startswith("1 stage unchanged, 2 to look at.\n")
    assert repo.nightjar("rebuild").stdout == "Nothing to do: 3 stages up to date.\n"
    assert not [path for path in (root / ".nightjar").rglob(".*.tmp-*")]


# The name of the second stage looks like an option and like a template: it is neither.
AWAY = """
stages:
  a:
    cmd: touch begun; while ! test -e go; do sleep 0.1; done; echo a > a.out
    outs: [a.out]
  '-{0}':
    cmd: cp a.out b.out; mkdir -p data; cp -r page data/report
    deps: [a.out, page]
    outs: [b.out, data/report]
"""


def write_away(repo: Repo, tables: Path) -> None:
    lend_database(tables, repo.root)
    repo.write(dvc=AWAY)
    (repo.root / "page").mkdir()
    (repo.root / "page" / "index.html").touch()
    (repo.root / "page" / "headline.txt").write_text("system  score\nplain   1.0\n")


@pytest.mark.timeout(400)
def test_a_server_that_dies_stops_no_stage_and_is_replaced(repo: Repo, tables: Path) -> None:
    write_away(repo, tables)
    rebuild = replace(repo, server=None).start("rebuild")
    wait_for((repo.root / "begun").exists, what="the stage")
    first = wait_for(lambda: shown(repo), what="the flow run")
    os.killpg(first.pid, signal.SIGKILL)
    second = wait_for(lambda: replaced(repo, first), what="another server")
    assert second.url == first.url
    (repo.root / "go").touch()
    out, err = rebuild.communicate(timeout=200)
    assert (rebuild.returncode, err) == (0, COMMIT_LOCK), out
    assert (repo.root / "b.out").exists() and first.url in out
    assert out.endswith("The report: data/report/index.html\nsystem  score\nplain   1.0\n")
    assert known(repo) == [("COMPLETED", 1)] and not list((repo.root / RUNS).iterdir())
    assert not lives(second.pid) and not (repo.root / paths.SERVER).exists()


@pytest.mark.timeout(400)
def test_a_server_of_others_that_hangs_is_left_alone_and_the_next_run_records_this_one(
    repo: Repo, tables: Path
) -> None:
    write_away(repo, tables)
    url = f"http://127.0.0.1:{servers.free_port()}"
    ui = repo.nightjar("ui", "--background", "--port", url.rpartition(":")[2])
    assert (ui.returncode, ui.stdout) == (0, f"The Prefect UI is at {url}\n"), ui.stderr
    server = servers.find(repo.root)
    assert server is not None
    rebuild = repo.start("rebuild")
    wait_for((repo.root / "begun").exists, what="the stage")
    wait_for(lambda: shown(repo), what="the flow run")
    os.killpg(server.pid, signal.SIGSTOP)
    (repo.root / "go").touch()
    wait_for((repo.root / "b.out").exists, 120, "the stage after it")
    out, err = rebuild.communicate(timeout=60)
    late = "Prefect has not recorded all of this run: the next one does (kept in .nightjar/runs)"
    assert (rebuild.returncode, err) == (0, f"{COMMIT_LOCK}nightjar: rebuild: {late}\n"), out
    assert lives(server.pid)
    os.killpg(server.pid, signal.SIGCONT)
    again = repo.here("ui")
    assert (again.returncode, again.stdout) == (0, f"Already running at {url}\n")
    repo.write(dvc=AWAY.replace("echo a", "echo again"))
    assert repo.nightjar("rebuild", timeout=200).returncode == 0
    stopped = repo.here("ui", "--stop", "--json")
    assert (stopped.returncode, json.loads(stopped.stdout)) == (
        0,
        {"url": url, "owner": "ui", "state": "stopped"},
    )
    assert repo.here("ui", "--stop").returncode == 2
    assert known(repo) == [("COMPLETED", 2)] and not list((repo.root / RUNS).iterdir())


def replaced(repo: Repo, first: servers.Server) -> servers.Server | None:
    """Another server than the `first`, once it answers."""
    found = servers.recorded(repo.root)
    return found if found and found.pid != first.pid and servers.healthy(found.url, 2.0) else None


def shown(repo: Repo) -> servers.Server | None:
    """The server of the repository, once a stage is a task of a flow run there."""
    with (
        contextlib.suppress(sqlite3.Error),
        sqlite3.connect(repo.root / paths.PREFECT / "prefect.db") as database,
    ):
        if database.execute("select count(*) from task_run").fetchone()[0]:
            return servers.recorded(repo.root)
    return None


def known(repo: Repo) -> list[tuple[str, int]]:
    """The states of flow runs in the database, and how many have each."""
    with sqlite3.connect(repo.root / paths.PREFECT / "prefect.db") as database:
        return database.execute("select state_type, count(*) from flow_run group by state_type").fetchall()
