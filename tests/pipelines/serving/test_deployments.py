"""`nightjar serve` as people use it: started runs, missed nights, a webhook, a Cancel, a dead server, Ctrl-C."""

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
import urllib.error
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from nightjar.core import paths
from nightjar.core.json_text import recorded
from pipelines import cli
from pipelines.serving import flow_runs
from pipelines.serving import server as servers
from pipelines.serving.flow_runs import Api as Client
from tests.completions_server import serving as webhook
from tests.pipelines.conftest import Api, Repo, lives, prefect_server, stage_pid, wait_for

pytestmark = pytest.mark.slow

DVC = """
stages:
  fine:
    cmd: (printenv NIGHTJAR_WEBHOOK || echo no secret) > fine.out
    outs: [fine.out]
  bad:
    cmd: echo it went wrong; exit 3
    outs: [bad.out]
  held:
    cmd: touch pid; until [ -e go ]; do sleep 0.1; done; mv go held.out
    outs: [held.out]
  long:
    cmd: trap '' TERM; echo $$ > pid; while true; do sleep 1; done
    outs: [long.out]
"""
URL = "https://chat.example/hook"
SECRET = b"hook-0123456789"
ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


@dataclass
class Serving:
    """A `nightjar serve` that runs, on the server of this file, and the lines that its webhook received."""

    repo: Repo
    api: Api
    process: subprocess.Popen[str]
    told: list[dict[str, Any]]

    def deployment(self, flow: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.ask(f"deployments/name/{flow}/{self.repo.root.name}")
        return found

    def run(self, flow: str, **parameters: Any) -> str:
        """What the Run button does; the id of the run."""
        path = f"deployments/{self.deployment(flow)['id']}/create_flow_run"
        made: str = self.api.ask(path, state={"type": "SCHEDULED"}, parameters=parameters)["id"]
        return made

    def state(self, run: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.ask(f"flow_runs/{run}")["state"]
        return found

    def ended(self, run: str) -> dict[str, Any]:
        """The state of a run once it has ended."""
        wait_for(lambda: self.state(run)["type"] in ENDED, 200, "the end of the run")
        return self.state(run)


@pytest.fixture(scope="module")
def api(tables: Path, empty_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server of this file's own, in the served project."""
    root = tmp_path_factory.mktemp("serving") / f"served-{os.getpid()}"
    shutil.copytree(empty_repo, root)
    with prefect_server(root, tables) as found:
        yield found


@pytest.fixture(scope="module")
def killed(api: Api) -> Iterator[str]:
    """The id of a run that was killed with all that served it, but not the server."""
    repo = Repo(api.root)
    repo.write(dvc=DVC)
    process = repo.start("serve", "--json")
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    names = [f"{flow}/{repo.root.name}" for flow in ("rebuild", "nightly", "study")]
    assert (told["url"], told["deployments"]) == (api.server.url, names)
    run = Serving(repo, api, process, []).run("rebuild", targets=["long"])
    stage_pid(repo)
    for other in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if Path(other.cwd()) == repo.root and os.getpgid(other.pid) != api.server.pid:
                other.kill()
    process.wait(timeout=20)
    yield run


@pytest.fixture(scope="module")
def serving(api: Api, killed: str) -> Iterator[Serving]:
    repo, name = Repo(api.root), api.root.name
    with webhook(lambda body: (200, {})) as hook:
        address = hook.url.replace("//", f"//{SECRET.decode()}@")
        process = repo.start("serve", "--webhook", f"{address}/v1/completions")
        try:
            first = process.stdout.readline()
            assert first.startswith(f"Serving rebuild/{name}, nightly/{name}, study/{name};")
            yield Serving(repo, api, process, hook.asked)
        finally:
            process.terminate()
            process.wait(timeout=20)


def test_a_run_killed_with_all_that_served_it_has_crashed(serving: Serving, killed: str) -> None:
    assert serving.ended(killed)["type"] == "CRASHED"
    assert [kind for kind, _ in _notified(serving)] == ["rebuild crashed"]
    assert [event["kind"] for event in serving.told] == ["rebuild crashed"]


def test_a_run_whose_own_process_is_killed_has_crashed_with_its_stage(serving: Serving) -> None:
    run = serving.run("rebuild", targets=["long"])
    pid = stage_pid(serving.repo)
    os.kill(recorded(serving.repo.root / paths.RUNS / run)["pid"], signal.SIGKILL)
    assert serving.ended(run)["type"] == "CRASHED"
    wait_for(lambda: not lives(pid), 10, "the end of the stage")
    event = wait_for(lambda: serving.told[1:], 20, "the notification")[0]
    assert (event["kind"], event["run"]) == ("rebuild crashed", run) and "SIGKILL" in event["message"]


def test_a_run_started_in_the_ui_works_and_one_that_fails_is_told_to_the_webhook(serving: Serving) -> None:
    # A package of the repository's own must not be taken for ours.
    package = serving.repo.root / "pipelines"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('not this one')\n")
    fine = serving.run("rebuild", targets=["fine"])
    bad = serving.run("rebuild", targets=["bad"])
    state = serving.ended(fine)
    assert (state["type"], state["message"]) == ("COMPLETED", "1 ran")
    assert (serving.repo.root / "fine.out").read_text() == "no secret\n"
    assert serving.ended(bad)["message"] == "1 failed"
    unknown = serving.ended(serving.run("rebuild", targets=["nothing"]))
    assert unknown["type"] == "FAILED" and "no such stage" in unknown["message"]
    failed = [("rebuild failed", "1 failed"), ("rebuild failed", unknown["message"])]
    assert _notified(serving)[-2:] == failed
    assert [(event["kind"], event["message"]) for event in serving.told[-2:]] == failed
    files = [path for path in (serving.repo.root / ".nightjar").rglob("*") if path.is_file()]
    assert not [path for path in files if SECRET in path.read_bytes()]
    for flow in ("rebuild", "nightly"):
        for jobs in (0, -1, 65):
            with pytest.raises(urllib.error.HTTPError) as refused:
                serving.run(flow, jobs=jobs)
            assert refused.value.code == 409 and b"jobs" in refused.value.read()
    shutil.rmtree(package)


@pytest.mark.skipif(
    version("sqlalchemy") >= "2.1",
    reason="Prefect 3.8 plans nothing beside SQLAlchemy 2.1: see requirements.lock",
)
def test_of_three_missed_nights_one_is_made_up_for(serving: Serving) -> None:
    deployment = serving.deployment("nightly")
    schedule = {"cron": "0 2 * * *", "timezone": "UTC", "day_or": True}
    assert deployment["schedules"][0]["schedule"] == schedule
    wait_for(lambda: len(_planned(serving)) >= 3, what="the planned nights")
    states = [serving.ended(run) for run in _missed(serving, 3, 1)]
    ran = [state for state in states if state["type"] != "CANCELLED"]
    # The repository has no stages to evaluate: the one that ran says so.
    assert len(states) == 2 and len(ran) == 1, states
    assert "no stage is named predict or evaluate" in ran[0]["message"]
    last = (serving.repo.root / paths.NIGHTLY_LOCK).read_bytes()
    assert _notified(serving)[-1] == ("nightly failed", ran[0]["message"])

    # One more late one, when no other runs: the flow itself finds that it was made up for.
    (run,) = _missed(serving, 1, 0)
    state = serving.ended(run)
    assert (state["type"], state["name"]) == ("CANCELLED", "Skipped"), state
    assert "replaced by" in state["message"]
    assert (serving.repo.root / paths.NIGHTLY_LOCK).read_bytes() == last


def _notified(serving: Serving) -> list[tuple[str, str]]:
    lines = (serving.repo.root / ".nightjar/notifications.jsonl").read_text().splitlines()
    return [(event["kind"], event["message"]) for event in map(json.loads, lines)]


def _planned(serving: Serving) -> dict[str, str]:
    """The runs that the schedule made and that have not begun: when each is due, by its id."""
    found = serving.api.ask(
        "flow_runs/filter",
        flow_runs={"deployment_id": {"any_": [serving.deployment("nightly")["id"]]}},
    )
    return {
        run["id"]: run["expected_start_time"]
        for run in found
        if run["auto_scheduled"] and run["state"]["type"] == "SCHEDULED"
    }


def _missed(serving: Serving, days: int, until: int) -> list[str]:
    """Plan the nights from `days` ago `until` so many ago; their ids."""
    deployment = serving.deployment("nightly")["id"]
    begin, end = _plan(serving.api, deployment, days, until)
    asked = {
        "deployment_id": {"any_": [deployment]},
        "expected_start_time": {"after_": begin, "before_": end},
    }
    return [run["id"] for run in serving.api.ask("flow_runs/filter", flow_runs=asked)]


def _plan(api: Api, deployment: str, days: int, until: int = 0) -> tuple[str, str]:
    """Plan its runs from `days` ago `until` so many ago, as the server would have planned them then."""
    begin, end = ((datetime.now(UTC) - timedelta(days=ago)).isoformat() for ago in (days, until))
    path = f"deployments/{deployment}/schedule"
    api.ask(path, start_time=begin, end_time=end, min_runs=days, max_runs=days)
    return begin, end


def test_late_runs_of_another_schedule_are_deleted_and_those_of_the_same_kept(api: Api) -> None:
    from pipelines.serving import deployments

    def runs() -> list[str]:
        found = api.ask("flow_runs/filter", flow_runs={"deployment_id": {"any_": [deployment]}})
        return [run["expected_start_time"][11:19] for run in found]

    flow = api.ask("flows/", name="other")["id"]

    def register(cron: str) -> str:
        facts = {
            "schedules": [{"schedule": {"cron": cron, "timezone": "UTC"}, "active": True}],
            "tags": [cron],
        }
        made: str = api.ask("deployments/", name="other", flow_id=flow, **facts)["id"]
        return made

    deployment = register("0 3 * * *")
    _plan(api, deployment, 2)
    register("0 3 * * *")
    client = Client(api.server.url)
    deployments.forget_others(client, deployment, "0 3 * * *")
    kept = runs()
    register("0 4 * * *")
    _plan(api, deployment, 1)
    deployments.forget_others(client, deployment, "0 4 * * *")
    assert kept.count("03:00:00") >= 2
    assert set(runs()) == {"04:00:00"}


def test_a_run_that_was_killed_before_its_flow_began_has_crashed_and_frees_the_slot(
    api: Api, tmp_path: Path
) -> None:
    client, flow = Client(api.server.url), api.ask("flows/", name="early")["id"]
    deployment = api.ask("deployments/", name="early", flow_id=flow, concurrency_limit=2)["id"]
    runs = {}
    for name in ("early", "living", "next"):
        scheduled = {"type": "SCHEDULED", "name": "Scheduled"}
        run = api.ask("flow_runs/", name=name, flow_id=flow, deployment_id=deployment, state=scheduled)
        runs[name] = run["id"]
    pending = {"type": "PENDING", "name": "Pending"}
    taken = [api.ask(f"flow_runs/{run}/set_state", state=pending)["status"] for run in runs.values()]
    assert taken == ["ACCEPT", "ACCEPT", "REJECT"]
    with flow_runs.marked(tmp_path, runs["living"], "early"):
        flow_runs.settle(tmp_path, client, {deployment: "early/here"})
    found = api.ask("flow_runs/filter", flow_runs={"id": {"any_": list(runs.values())}})
    states = {run["name"]: run["state"]["type"] for run in found}
    assert states == {"early": "CRASHED", "living": "PENDING", "next": "SCHEDULED"}
    (event,) = (tmp_path / ".nightjar/notifications.jsonl").read_text().splitlines()
    assert json.loads(event)["kind"] == "early crashed"
    assert api.ask(f"flow_runs/{runs['next']}/set_state", state=pending, force=False)["status"] == "ACCEPT"


def test_a_cancel_in_the_ui_ends_a_stage_that_does_not_listen(serving: Serving) -> None:
    run = serving.run("rebuild", targets=["long"])
    pid = stage_pid(serving.repo)
    serving.api.ask(f"flow_runs/{run}/set_state", state={"type": "CANCELLING", "name": "Cancelling"})
    began = time.monotonic()
    # The runner asks for cancelled runs in between; from then on it takes seconds.
    wait_for(lambda: not lives(pid), what="the end of the stage")
    assert time.monotonic() - began < 20
    assert serving.ended(run)["type"] == "CANCELLED"
    # The runner has a message of its own, which is replaced once the process of the run has ended.
    wait_for(lambda: not (serving.repo.root / paths.RUNS / run).exists(), what="the end of the process")
    assert serving.ended(run)["message"] == "1 stopped"


def test_a_server_that_dies_is_started_again_and_sigterm_ends_all_within_ten_seconds(
    serving: Serving,
) -> None:
    repo, first = serving.repo, serving.api.server
    held = serving.run("rebuild", targets=["held"])
    wait_for((repo.root / "pid").exists, what="the stage")
    lease = serving.state(held)["state_details"]["deployment_concurrency_lease_id"]
    os.killpg(first.pid, signal.SIGKILL)
    (repo.root / "pid").rename(repo.root / "go")  # the stage and its run end while there is no server
    again = wait_for(
        lambda: (found := servers.recorded(repo.root)) and found.pid != first.pid and found, 60, "the server"
    )
    assert again.url == first.url
    wait_for(lambda: servers.healthy(again.url, 2.0), what="its answer")
    try:
        renewed = Client(again.url).ask(f"v2/concurrency_limits/leases/{lease}/renew", {"lease_duration": 60})
        assert renewed is None
    except httpx.HTTPStatusError as error:  # the run has ended meanwhile and has given it back
        assert error.response.status_code == 410 and serving.state(held)["type"] == "COMPLETED"
    assert serving.ended(held)["type"] == "COMPLETED", serving.state(held)
    second = repo.nightjar("serve")
    holder = re.search(r"process (\d+)", second.stderr)
    assert second.returncode == 2 and holder and lives(int(holder[1])), second.stderr
    assert second.stderr.endswith("; use that one, or end it first\n")
    stopped = serving.run("rebuild", targets=["long"])
    pid = stage_pid(repo)
    assert serving.deployment("nightly")["paused"] is False
    began = time.monotonic()
    serving.process.send_signal(signal.SIGTERM)
    assert serving.process.wait(timeout=20) == 130
    assert time.monotonic() - began < 10
    assert not any(map(lives, [pid, again.pid, int(holder[1])])) and servers.recorded(repo.root) is None
    told = serving.process.stderr.read()
    assert re.search(rf"(?m)^rebuild \S+ started: {again.url}/runs/flow-run/{held}$", told), told
    assert re.search(r"(?m)^rebuild \S+ completed: 1 ran$", told), told
    with contextlib.closing(sqlite3.connect(repo.root / paths.PREFECT / "prefect.db")) as database:
        asked = "SELECT state_type FROM flow_run WHERE id = ?"
        assert database.execute(asked, [stopped]).fetchone() == ("CANCELLED",)


@pytest.mark.parametrize(
    ("params", "webhook", "told"),
    [
        ("nightly:\n  cron: daily\n", URL, "nightly.cron = 'daily' is not allowed: not a cron line"),
        ("nightly:\n  timezone: Mars/Olympus\n", URL, "nightly.timezone = 'Mars/Olympus' is not allowed"),
        ("seed: 1\n", "ftp://a", "--webhook: not an http or https address"),
        ("seed: 1\n", "http://[", "--webhook: not an http or https address"),
    ],
)
def test_wrong_settings_are_one_line(
    repo: Repo,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    params: str,
    webhook: str,
    told: str,
) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: touch a\n    outs: [a]\n", params=params)
    monkeypatch.chdir(repo.root)
    with pytest.raises(SystemExit) as ended:
        cli.main(["serve", "--webhook", webhook])
    error = capsys.readouterr().err
    assert (ended.value.code, error.count("\n")) == (2, 1) and told in error
