"""What people know of Prefect, with its real server: flows as a library, hooks, retries, limits of tags, automations,
and deployments that a worker runs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from nightjar.params.drivers import Nightly
from pipelines.serving import server as servers
from tests.pipelines.conftest import Api, Repo, environment, wait_for

pytestmark = pytest.mark.slow

PREFECT_YAML = Path(__file__).parents[2] / "prefect.yaml"
# The siblings note when another of them runs. Their stage's name, the tag, is no other test's.
DVC = """
stages:
  good:
    cmd: echo good > good.out
    outs: [good.out]
  bad:
    cmd: echo attempt >> attempts; exit 3
    outs: [bad.out]
    meta: {attempts: 3}
  limited:
    foreach: [x, y]
    do:
      cmd: mkdir busy || echo ${item} >> overlaps; sleep 0.5; rmdir busy; touch ${item}.out
      outs: ["${item}.out"]
  forbidden:
    cmd: touch forbidden.out
    outs: [forbidden.out]
"""
# A user's own script: what it prints are the states of its runs, by their tasks, and of which a hook was told.
SCRIPT = """
import json, threading
from prefect import get_client
from pipelines.flows import rebuild

with get_client(sync_client=True) as client:
    client.create_concurrency_limit(tag="limited", concurrency_limit=1)
    client.create_concurrency_limit(tag="forbidden", concurrency_limit=0)
told = []
hook = lambda flow, run, state: told.append([str(run.id), state.message])
mine = rebuild.with_options(name="mine", on_failure=[hook])
found = {}
for name in ("good", "bad", "limited", "forbidden", "nothing"):
    state = mine(targets=[name], jobs=2, return_state=True)
    found[name] = [str(state.state_details.flow_run_id), state.type.value, state.message]
print(json.dumps({"runs": found, "told": told}))
"""


@dataclass
class Ran:
    """A script's runs: of each target the id, the type and the message of its state, and what its hook was told."""

    repo: Repo
    runs: dict[str, tuple[str, str, str]]
    told: list[list[str]]


def call(repo: Repo, api: Api, *words: str) -> str:
    """What a program prints, as a client of the server, as people start it. It is patient with the server that all
    tests share, whose database may be locked for a moment.
    """
    ours = environment()
    settings = servers.environment(repo.root, api.server.url) | {
        name: ours[name] for name in ("PATH", "PYTHONPATH", "DVC_NO_ANALYTICS", "CI")
    }
    settings |= {"PREFECT_CLIENT_MAX_RETRIES": "8", "PREFECT_API_REQUEST_TIMEOUT": "60"}
    done = subprocess.run(words, cwd=repo.root, env=settings, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def automation(api: Api) -> str:
    """The id of a deployment that an automation runs when a run of the flow `mine` has failed."""
    flow = api.ask("flows/", name="alarm")["id"]
    alarm: str = api.ask("deployments/", name="alarm", flow_id=flow)["id"]
    api.ask(
        "automations/",
        name="alarm",
        trigger={
            "type": "event",
            "posture": "Reactive",
            "expect": ["prefect.flow-run.Failed"],
            "match_related": {"prefect.resource.role": "flow", "prefect.resource.name": "mine"},
            "threshold": 1,
            "within": 0,
        },
        actions=[
            {
                "type": "run-deployment",
                "source": "selected",
                "deployment_id": alarm,
                "parameters": {"failed": {"__prefect_kind": "jinja", "template": "{{ flow_run.id }}"}},
            }
        ],
    )
    return alarm


@pytest.fixture(scope="module")
def ran(api: Api, automation: str, empty_repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    root = tmp_path_factory.mktemp("flows") / "library"
    shutil.copytree(empty_repo, root)
    repo = Repo(root)
    repo.write(dvc=DVC, params="rebuild: {backoff_seconds: 0.1}\n")
    return Ran(repo, **json.loads(call(repo, api, sys.executable, "-c", SCRIPT)))


def test_a_script_gets_the_states_of_its_runs_and_its_hook_is_called(ran: Ran) -> None:
    assert ran.runs["good"][1:] == ["COMPLETED", "1 ran"]
    assert (ran.repo.root / "good.out").read_text() == "good\n"
    failed = {name: run for name, run in ran.runs.items() if run[1] == "FAILED"}
    assert failed.keys() == {"bad", "forbidden", "nothing"}
    assert "nothing: no such stage" in failed["nothing"][2]
    assert ran.told == [[run, message] for run, _, message in failed.values()]


def test_attempts_are_retries_of_prefect(api: Api, ran: Ran) -> None:
    (task,) = _tasks(api, ran.runs["bad"][0])
    assert (task["run_count"], task["state"]["type"]) == (3, "FAILED")
    assert task["state"]["message"].endswith("(3 attempts)")
    assert (ran.repo.root / "attempts").read_text() == 3 * "attempt\n"
    about = {"resource": {"id": [f"prefect.task-run.{task['id']}"]}}
    events = api.ask("events/filter", filter=about | {"occurred": {"since": "2020-01-01T00:00:00Z"}})[
        "events"
    ]
    assert [event["event"] for event in events].count("prefect.task-run.AwaitingRetry") == 2


def test_the_limit_of_a_tag_holds(api: Api, ran: Ran) -> None:
    assert ran.runs["limited"][1:] == ["COMPLETED", "2 ran"]
    assert not (ran.repo.root / "overlaps").exists()
    x, y = sorted(_tasks(api, ran.runs["limited"][0]), key=lambda task: str(task["start_time"]))
    assert x["end_time"] <= y["start_time"]
    assert set(x["tags"]) >= {"limited"}
    # At a limit of 0 nothing runs.
    assert ran.runs["forbidden"][1:] == ["FAILED", "1 failed"]
    assert not (ran.repo.root / "forbidden.out").exists()


def test_an_automation_on_a_failed_run_fires(api: Api, automation: str, ran: Ran) -> None:
    wanted = {run for run, state, _ in ran.runs.values() if state == "FAILED"}

    def started() -> set[str]:
        asked = {"deployment_id": {"any_": [automation]}}
        return {run["parameters"]["failed"] for run in api.ask("flow_runs/filter", flow_runs=asked)}

    wait_for(lambda: started() >= wanted, what="the runs of the automation")
    assert not started() & {run for run, state, _ in ran.runs.values() if state != "FAILED"}


def test_prefect_deploys_the_flows_and_a_worker_runs_them(api: Api, repo: Repo) -> None:
    repo.write(dvc=DVC)
    shutil.copy(PREFECT_YAML, repo.root)
    call(repo, api, "prefect", "--no-prompt", "work-pool", "create", "--type", "process", "nightjar")
    call(repo, api, "prefect", "--no-prompt", "deploy", "--all")
    worker = api.ask("deployments/name/rebuild/worker")["id"]
    api.ask(f"deployments/{worker}/create_flow_run", parameters={"targets": ["good"]})
    call(repo, api, "prefect", "worker", "start", "--pool", "nightjar", "--run-once")
    assert (repo.root / "good.out").read_text() == "good\n"
    pool = {"name": {"any_": ["nightjar"]}}
    runs = api.ask("flow_runs/filter", work_pools=pool)
    ended = {run["state"]["message"] for run in runs if run["state"]["type"] == "COMPLETED"}
    assert ended == {"1 ran"}
    made = api.ask("deployments/filter", work_pools=pool)
    flows = {it["id"]: it["name"] for it in api.ask("flows/filter", work_pools=pool)}
    cron = {flows[it["flow_id"]]: [at["schedule"] for at in it["schedules"]] for it in made}
    night = Nightly()
    assert cron == {
        "rebuild": [],
        "study": [],
        "nightly": [{"cron": night.cron, "timezone": night.timezone, "day_or": True}],
    }


def test_the_deployments_name_no_folder() -> None:
    text = PREFECT_YAML.read_text()
    assert {it["name"] for it in yaml.safe_load(text)["deployments"]} == {"worker"}
    assert " /" not in text and "pull" not in yaml.safe_load(text)


def _tasks(api: Api, run: str) -> list[dict[str, Any]]:
    """The tasks of a run, once the server has their last states."""

    def ended() -> list[dict[str, Any]]:
        found = api.ask("task_runs/filter", flow_runs={"id": {"any_": [run]}})
        return found if all(task["end_time"] for task in found) else []

    tasks: list[dict[str, Any]] = wait_for(ended, what="the ends of the tasks")
    return tasks
