"""Shares of a stage's work: real processes here, on a Ray cluster of two workers, lost and stopped ones among them."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import psutil
import pytest

from nightjar.core.errors import NightjarError
from nightjar.params.drivers import Shards
from pipelines.commands.plan import plan
from pipelines.commands.rebuild import rebuild
from pipelines.graph.graph import Graph, Stage
from pipelines.run import shards
from pipelines.run.resources import Needs
from pipelines.run.results import Result
from pipelines.run.shards import simple
from stages._runtime import history
from tests.conftest import ROOT
from tests.pipelines.conftest import Repo, lives, wait_for

# A stage of another repository that understands --shard: each unit is a file, left for the ordinary command.
WORK = """
import os, pathlib, signal, subprocess, sys, time
with open("secrets.log", "a") as log:
    log.writelines(f"{name}\\n" for name, value in os.environ.items() if "made-up" in value or "PREFECT_" in name)
units, parts = 6, pathlib.Path("parts")
parts.mkdir(exist_ok=True)
if "--shard" in sys.argv:
    number, of = map(int, sys.argv[-1].split("/"))
    for unit in range(number - 1, units, of):
        exec(pathlib.Path("before.txt").read_text())
        (parts / str(unit)).write_text(f"unit {unit}\\n")
        with open("done.log", "a") as log:
            log.write(f"{unit}\\n")
else:
    lines = [(parts / str(unit)).read_text() for unit in range(units)]
    pathlib.Path("out.txt").write_text("".join(lines))
"""
DVC = """
stages:
  work:
    cmd: {cmd}
    meta: {{shards: true}}
    params: [key]
    outs: [out.txt]
"""


def made(repo: Repo, before: str = "pass", cmd: str = "python work.py", **settings: Any) -> Repo:
    values = "".join(f"\n  {name}: {value}" for name, value in ({"count": 3} | settings).items())
    repo.write(dvc=DVC.format(cmd=cmd), params=f"key: 1\nshards:{values}\n", before=before)
    (repo.root / "work.py").write_text(WORK)
    return repo


def units(repo: Repo) -> list[int]:
    """The units that were done, in order."""
    log = repo.root / "done.log"
    return sorted(map(int, log.read_text().split())) if log.exists() else []


def said(repo: Repo) -> str:
    return "".join(path.read_text() for path in (repo.root / ".nightjar/logs").rglob("work.shards.log"))


def test_the_shares_do_the_work_and_the_command_comes_after_them(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NIGHTJAR_WEBHOOK", "PGPASSWORD", "PREFECT_API_KEY"):
        monkeypatch.setenv(name, "made-up")
    made(repo, "pathlib.Path(f'began{unit}').touch(); time.sleep(0.5)")
    done = repo.nightjar("rebuild")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (repo.root / "secrets.log").read_text() == "", "neither a share nor the command has a secret"
    assert units(repo) == list(range(6))
    assert (repo.root / "out.txt").read_text() == "".join(f"unit {n}\n" for n in range(6))
    assert "3 of 3" in said(repo)
    # The stage's seconds are those of the shares and of the command after them.
    began = min(path.stat().st_mtime for path in repo.root.glob("began*"))
    assert history.expected(repo.root)["work"] > (repo.root / "out.txt").stat().st_mtime - began
    # Neither a stage without changes nor one that DVC can restore is shared.
    (repo.root / "done.log").unlink()
    assert repo.nightjar("rebuild").returncode == 0
    (repo.root / "out.txt").unlink()
    assert repo.nightjar("rebuild").returncode == 0
    assert units(repo) == [] and (repo.root / "out.txt").exists()


def test_a_share_that_fails_fails_the_stage_with_its_last_line(repo: Repo) -> None:
    made(repo, "if unit == 4: print('no such thing', file=sys.stderr); time.sleep(0.1); sys.exit(2)")
    done = repo.nightjar("rebuild")
    assert done.returncode == 1 and "Traceback" not in done.stdout + done.stderr
    failed = re.search(
        r"^ *1 of 1 +failed +(\S+) s  work  shard 2/3: exit status 2: no such thing.*log: (\S+)\)$",
        done.stdout,
        re.M,
    )
    assert failed and float(failed[1]) > 0, done.stdout
    assert (repo.root / failed[2]).read_text() == "no such thing\n"


def shared(repo: Repo, stop: threading.Event | None = None, **settings: Any) -> Result | None:
    """Run the shares of the stage `work` alone, without DVC and Prefect."""
    return shards.share(
        Graph(repo.root, {}),
        stage("python work.py"),
        Shards(**({"count": 3} | settings)),
        repo.root / ".nightjar/logs/run/work.log",
        lambda lines: None,
        stop or threading.Event(),
    )


# As after a loss: the lost process may have its part of the work for a moment.
FAILS_ONCE_AFTER_A_LOSS = """if unit == 1:
    tried = len(list(parts.glob('x*'))); (parts / f'x{tried}').touch()
    if tried == 0: os.kill(os.getpid(), 9)
    if tried == 1: sys.exit('another process has this part')"""


@pytest.mark.parametrize(
    ("before", "attempts", "lost", "error"),
    [
        (FAILS_ONCE_AFTER_A_LOSS, 3, ["exit status 137", "exit status 1: another process has this part"], ""),
        ("if unit == 1: os.kill(os.getpid(), 9)", 2, ["exit status 137"], "lost 2 times, the last time: "),
    ],
)
def test_a_share_that_is_lost_is_started_again_as_often_as_it_may_be(
    repo: Repo, before: str, attempts: int, lost: list[str], error: str
) -> None:
    fault = shared(made(repo, before), attempts=attempts)
    again = re.findall(r"shard 2/3 was lost \((.*)\): it is started again", said(repo))
    assert again == lost
    assert fault.error.startswith(f"shard 2/3: {error}") if fault else not error
    assert fault or set(units(repo)) == set(range(6))


def test_whoever_ends_the_rebuild_ends_the_shares(repo: Repo) -> None:
    sleeper = "subprocess.Popen(['sleep', '300']); (parts / f'{number}.pid').touch(); time.sleep(300)"
    made(repo, sleeper)
    process = repo.start("rebuild")
    wait_for(lambda: len(list((repo.root / "parts").glob("*.pid"))) == 3, what="three shares")
    started = [child.pid for child in psutil.process_iter() if _is_at(child, repo.root)]
    assert len(started) >= 9  # three guards, three commands, and what they started
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    wait_for(lambda: not [pid for pid in started if lives(pid)], 10, "the end of all")
    assert time.monotonic() - began < 10
    process.communicate(timeout=30)
    assert units(repo) == []


def _is_at(process: psutil.Process, root: Path) -> bool:
    try:
        return process.cwd() == str(root)
    except psutil.Error:
        return False


@pytest.mark.parametrize("command", ["a | b", "a; b", "A=1 a", "a $X", "a && b", "a\nb", "a 'b", "a > b", ""])
def test_only_a_plain_command_is_split_as_a_shell_does(command: str) -> None:
    assert simple(stage("python -m work 'a b' --x=1")) == ["python", "-m", "work", "a b", "--x=1"]
    with pytest.raises(NightjarError, match="only one plain command can be shared"):
        simple(stage(command))


def stage(command: str = "a", **meta: Any) -> Stage:
    return Stage("work", command, "", (), (), (), {}, (), (), meta)


@pytest.mark.parametrize(("count", "shared", "bad"), [(2, True, True), (1, True, False), (2, False, False)])
def test_only_a_stage_that_says_so_is_shared(tmp_path: Path, count: int, shared: bool, bad: bool) -> None:
    (tmp_path / "params.yaml").write_text(f"shards: {{count: {count}}}")
    graph = Graph(tmp_path, {"work": stage("a | b")})
    with pytest.raises(NightjarError, match="one plain command") if bad else contextlib.nullcontext():
        shards.check(graph, {"work": Needs(shards=shared)})


def test_a_folder_that_is_not_the_project_is_an_error_in_one_line(tmp_path: Path) -> None:
    shards_ray = pytest.importorskip("pipelines.run.shards_ray", exc_type=ImportError)
    log = tmp_path / ".nightjar/logs/run/work.log"
    work = shards.Work(command=["touch", "begun"], folder=tmp_path, log=log, settings=Shards(count=2))
    with pytest.raises(
        NightjarError, match="is not there; every worker must see the project's folder"
    ) as error:
        shards_ray.on_worker(work, 1)
    assert str(error.value).startswith(f"{socket.gethostname()}: {tmp_path}")
    assert not (tmp_path / "begun").exists()


@pytest.mark.parametrize(
    ("settings", "cmd", "meta", "told"),
    [
        ({"count": 0}, "python work.py", "true", "shards.count = 0 is not allowed"),
        ({"gpus": 1}, "python work.py", "true", "shards.gpus: 1: only Ray assigns GPUs"),
        ({}, "python work.py | cat", "true", "only one plain command can be shared"),
    ],
)
@pytest.mark.parametrize("command", [plan, rebuild])
def test_what_can_be_known_before_is_told_before_anything_starts(
    repo: Repo,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    cmd: str,
    meta: str,
    told: str,
    command: click.Command,
) -> None:
    made(repo, cmd=cmd, **settings)
    file = repo.root / "dvc.yaml"
    file.write_text(file.read_text().replace("shards: true", f"shards: {meta}"))
    monkeypatch.chdir(repo.root)
    with pytest.raises(NightjarError, match=re.escape(told)):
        command.main([], standalone_mode=False)
    there = {path.name for path in (repo.root / ".nightjar").rglob("*")}
    assert there <= {".gitignore", "rebuild.lock"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A Ray cluster of two nodes of one processor each. It ignores SIGINT, as one that a script starts in the
    background.
    """
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", str(ROOT))
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    small = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    made = Cluster(initialize_head=True, head_node_args=small)
    try:
        made.add_node(**small)
        made.wait_for_nodes()
        signal.signal(signal.SIGINT, interrupt)
        yield made
    finally:
        made.shutdown()
        patch.undo()


@pytest.mark.slow
def test_stop_ends_the_shares_on_a_cluster_with_all_that_they_started(cluster: Any, repo: Repo) -> None:
    ends = "time.sleep(0.5), (parts / f'{number}.ended').touch(), sys.exit()"
    sleeps = "subprocess.Popen(['sleep', '300']); (parts / f'{number}.pid').touch(); time.sleep(300)"
    made(repo, f"signal.signal(signal.SIGTERM, lambda *_: ({ends})); {sleeps}")
    stop = threading.Event()
    thread = threading.Thread(
        target=shared, args=(repo,), kwargs={"stop": stop, "count": 2, "address": cluster.address}
    )
    thread.start()
    wait_for(lambda: len(list((repo.root / "parts").glob("*.pid"))) == 2, what="two shares")
    started = [child.pid for child in psutil.process_iter() if _is_at(child, repo.root)]
    assert len(started) >= 6
    began = time.monotonic()
    stop.set()
    thread.join()
    assert time.monotonic() - began < 10
    assert not [pid for pid in started if lives(pid)] and units(repo) == []
    assert len(list((repo.root / "parts").glob("*.ended"))) == 2, "by TERM, with time to end"


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_in_the_middle_does_the_work_all_the_same(
    cluster: Any, repo: Repo
) -> None:
    made(repo, "time.sleep(1)")
    killer = threading.Thread(target=_lose_a_worker, args=(cluster, repo))
    killer.start()
    fault = shared(repo, count=2, address=cluster.address)
    killer.join()
    assert fault is None
    assert said(repo).count("was lost") >= 1 and "2 of 2" in said(repo)
    assert set(units(repo)) == set(range(6))
    assert not [child for child in psutil.process_iter() if _is_at(child, repo.root)], (
        "the guard ended the lost share"
    )


def _lose_a_worker(cluster: Any, repo: Repo) -> None:
    wait_for(lambda: units(repo), what="the first unit")
    raylet = psutil.Process(cluster.list_all_nodes()[1].all_processes["raylet"][0].process.pid)
    for lost in [raylet, *raylet.children(recursive=True)]:
        if "work.py" not in lost.cmdline():  # its guard has to end that
            lost.kill()


@pytest.mark.slow
def test_an_address_where_nobody_answers_is_an_error_before_any_share_starts(repo: Repo) -> None:
    pytest.importorskip("ray")
    fault = shared(made(repo), address="127.0.0.1:1")
    assert fault and fault.error.startswith("shards.address: 127.0.0.1:1: no Ray cluster can be used")
    assert said(repo).count("\n") == 1 and units(repo) == []
