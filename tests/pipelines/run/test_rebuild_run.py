"""Rebuilds as a user starts them: side by side, seen in Prefect, stopped, started twice, nothing to do."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.conftest import (
    NIGHTJAR,
    Api,
    Repo,
    environment,
    lives,
    prefect_server,
    run_of,
    stage_pid,
)

pytestmark = pytest.mark.slow

METRICS = '{"rows_in": 7, "rows_out": 5, "rows_rejected": 2}'
DVC = """
stages:
  First_Stage:
    cmd: >-
      cp source.txt first.out; echo '%s' > first.json; echo hello from first
    deps: [source.txt]
    outs: [first.out]
    metrics: [first.json]
  sibling:
    foreach: [x, y, z]
    do:
      cmd: >-
        touch ${item}.began; for i in $(seq 600); do test -f x.began -a -f y.began -a -f z.began && break; sleep 0.1;
        done; test -f x.began -a -f y.began -a -f z.began && cp first.out ${item}.out
      deps: [first.out]
      outs: ["${item}.out"]
  bad:
    cmd: test -f mended && cp first.out bad.out || (echo bad went wrong; exit 4)
    deps: [first.out]
    outs: [bad.out]
  after:
    cmd: cp bad.out after.out
    deps: [bad.out]
    outs: [after.out]
  last:
    cmd: cp after.out last.out
    deps: [after.out]
    outs: [last.out]
"""


def lines(result: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The last word on each stage of a rebuild's output: its line after the name."""
    found = {}
    for line in result.stdout.splitlines():
        if match := re.match(r" *\d+ of \d+(?:, \d+ s left)? +(\w+) +[\d.]+ s  (\S+)  (.*)", line):
            found[match[2]] = f"{match[1]} {match[3]}"
    return found


def said(stderr: str) -> str:
    """Standard error but the line on a server that is busy with other runs."""
    return re.sub(
        r"nightjar: the Prefect server \(process \d+\) does not answer yet; waiting up to \d+ s\n", "", stderr
    )


@pytest.fixture()
def own(tmp_path: Path, tables: Path) -> Iterator[Api]:
    """A server for one test: beside other runs it may refuse a task the limits of its tags, which then runs without."""
    with prefect_server(tmp_path / "prefect", tables) as api:
        yield api


def test_a_rebuild_from_failure_to_nothing_to_do(repo: Repo, own: Api) -> None:
    own.serve(repo)
    repo.write(dvc=DVC % METRICS, source="1")
    first = repo.nightjar("rebuild", "--jobs", "4")
    assert first.returncode == 1, first.stderr
    assert lines(first) == {
        "First_Stage": "ran never run",
        "sibling@x": "ran never run",
        "sibling@y": "ran never run",
        "sibling@z": "ran never run",
        "bad": f"failed exit status 4: bad went wrong (log: {_log(first, 'bad')})",
    }
    assert said(first.stderr) == "nightjar: rebuild: 1 failed, 4 ran, 2 skipped; not run because of bad\n"
    # Each sibling ends once all have begun: they ran side by side.
    assert "hello from first" in (repo.root / _log(first, "First_Stage")).read_text()
    _shown(own, repo)
    (repo.root / "mended").touch()
    second = repo.nightjar("rebuild")
    assert second.returncode == 0, second.stdout + second.stderr
    told = lines(second)
    assert {name: text.split()[0] for name, text in told.items()} == {
        name: "ran" for name in ("bad", "after", "last")
    }
    assert second.stdout.startswith("4 stages unchanged, 3 to look at.\n")
    assert (repo.root / "last.out").read_text() == "1"

    began_at = time.monotonic()
    third = repo.nightjar("rebuild")
    assert (third.returncode, third.stdout) == (0, "Nothing to do: 7 stages up to date.\n")
    assert time.monotonic() - began_at < 10

    repo.write(source="2")
    only = repo.nightjar("rebuild", "sibling@y")
    assert only.returncode == 0 and list(lines(only)) == ["First_Stage", "sibling@y"]
    assert [stage["state"] for stage in json.loads(repo.nightjar("plan", "--json").stdout)["stages"]].count(
        "would run"
    )
    repo.dvc("repro")
    assert repo.nightjar("plan").stdout.endswith("Nothing to do.\n")


def _log(result: subprocess.CompletedProcess[str], stage: str) -> str:
    found = re.search(r"\.nightjar/logs/[^/]+/", result.stdout)
    assert found
    return f"{found[0]}{stage}.log"


def _shown(api: Api, repo: Repo) -> None:
    """The run as Prefect's own interface sees it: states, messages, edges, tags, logs, artifacts."""
    run = run_of(api, repo)
    assert run["state"]["type"] == "FAILED" and run["state"]["message"] == "1 failed, 4 ran, 2 skipped"
    assert run["name"] == "7 stages: never run" and repo.root.name in run["tags"]
    of_run = {"flow_runs": {"id": {"any_": [run["id"]]}}}
    tasks = api.ask("task_runs/filter", **of_run)
    states = {task["name"]: (task["state"]["type"], task["state"]["name"]) for task in tasks}
    assert states == {
        "First_Stage": ("COMPLETED", "Ran"),
        **{f"sibling@{item}": ("COMPLETED", "Ran") for item in "xyz"},
        "bad": ("FAILED", "Failed"),
        "after": ("PENDING", "NotReady"),
        "last": ("PENDING", "NotReady"),
    }
    ids = {task["id"]: task["name"] for task in tasks}
    by_name = {task["name"]: task for task in tasks}
    edges = {ids[edge["id"]] for edge in by_name["sibling@x"]["task_inputs"]["wait_for"]}
    assert edges == {"First_Stage"}
    assert set(by_name["sibling@x"]["tags"]) == {"sibling", "x"}
    assert by_name["bad"]["state"]["message"] == "exit status 4: bad went wrong"
    logs = api.ask("logs/filter", logs={"flow_run_id": {"any_": [run["id"]]}})
    said = [log for log in logs if log["message"] == "hello from first"]
    assert {log["task_run_id"] for log in said} == {by_name["First_Stage"]["id"]}
    artifacts = api.ask("artifacts/filter", artifacts={"flow_run_id": {"any_": [run["id"]]}})
    tables = {item["key"]: item for item in artifacts}
    assert set(tables) == {"rebuild"}
    cells = {
        line.split(" | ")[0].removeprefix("| "): line.removesuffix(" |").split(" | ")[1:]
        for line in tables["rebuild"]["data"].splitlines()
        if line.startswith("| ")
    }
    head = dict(zip(cells["stage"], cells["First_Stage"], strict=True))
    assert [head[name] for name in ("state", "rows in", "rows out", "rejected", "why")] == [
        "ran",
        "7",
        "5",
        "2",
        "never run",
    ]
    assert float(head["seconds"]) > 0
    assert {name: row[0] for name, row in cells.items() if name in ("bad", "after")} == {
        "bad": "failed",
        "after": "skipped",
    }


SLEEPER = """
stages:
  a:
    cmd: echo $$ > pid; sleep 300; touch a.out
    outs: [a.out]
  b:
    cmd: cp a.out b.out
    deps: [a.out]
    outs: [b.out]
"""


def test_started_twice_then_stopped(repo: Repo) -> None:
    repo.write(dvc=SLEEPER)
    first = repo.start("rebuild")
    pid = stage_pid(repo)
    second = repo.nightjar("rebuild")
    assert second.returncode == 2
    holder = re.fullmatch(
        r"nightjar: \.nightjar/rebuild\.lock: a rebuild is running \(process (\d+), since \S+\); .*\n",
        second.stderr,
    )
    assert holder and lives(int(holder[1])), second.stderr
    began = time.monotonic()
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=20)
    assert time.monotonic() - began < 10
    assert first.returncode == 130
    assert said(err) == "nightjar: rebuild: 2 stopped; ended while running: a\n"
    assert "Traceback" not in out
    assert not lives(pid) and not lives(int(holder[1]))
    assert not (repo.root / "a.out").exists()


FAILS = """
stages:
  bad:
    cmd: while ! test -f pid; do sleep 0.1; done; exit 4
    outs: [bad.out]
  long:
    cmd: echo $$ > pid; sleep 300; touch long.out
    outs: [long.out]
"""


def test_fail_fast_ends_what_runs(repo: Repo) -> None:
    repo.write(dvc=FAILS)
    done = repo.nightjar("rebuild", "--fail-fast", "--jobs", "2", timeout=60)
    assert done.returncode == 1 and list(lines(done)) == ["bad"]
    assert said(done.stderr) == "nightjar: rebuild: 1 failed, 1 stopped; ended while running: long\n"
    assert not lives(stage_pid(repo))


# Prints our own functions on the way to the process of a stage: those that submit its task, and those of its thread.
WAY = """
import json, sys, threading, traceback
from pathlib import Path
from pipelines.cli import main

def own(thread):
    stack = traceback.extract_stack(sys._current_frames()[thread.ident])
    files = [(Path(it.filename), it.name) for it in stack if "site-packages" not in it.filename]
    return [f"{file.stem}.{name}" for file, name in files if "pipelines" in file.parts]

def watch(event, arguments):
    if event == "subprocess.Popen" and (frames := own(threading.current_thread()))[0] == "session.stage":
        submitting = own(threading.main_thread())
        print("way", json.dumps(submitting[: submitting.index("session.stages") + 1] + frames))

sys.addaudithook(watch)
main(["rebuild"])
"""


def test_a_stage_is_few_calls_away_from_the_command_line(repo: Repo, api: Api) -> None:
    api.serve(repo)
    repo.write(dvc="stages:\n  a:\n    cmd: touch a.out\n    outs: [a.out]\n")
    command = [sys.executable, "-c", WAY]
    done = subprocess.run(
        command, cwd=repo.root, env=environment(), capture_output=True, text=True, timeout=90
    )
    (way,) = [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("way ")]
    assert (way[0], way[-1]) == ("cli.main", "child.__init__") and "session.stages" in way
    assert len(way) <= 8, way


def test_without_prefect_one_line_names_dvc_and_nothing_to_do_needs_none(repo: Repo) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: touch a.out\n    outs: [a.out]\n")
    without = "import sys; sys.modules['prefect'] = None; "

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [NIGHTJAR[0], "-c", without + NIGHTJAR[2], *arguments]
        return subprocess.run(
            command, cwd=repo.root, env=environment(), capture_output=True, text=True, timeout=60
        )

    for command in ("ui", "rebuild"):
        refused = run(command)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1
        assert "Prefect is not installed" in refused.stderr and "`dvc repro`" in refused.stderr
    assert not (repo.root / "a.out").exists()
    repo.dvc("repro")
    assert run("rebuild").stdout == "Nothing to do: 1 stage up to date.\n"
