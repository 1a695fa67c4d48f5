"""A journal becomes a flow run exactly once, whatever fails on the way: against a small copy of Prefect's API."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipelines.execution import journal as journals
from pipelines.execution.journal import Journal
from pipelines.execution.results import End, Result
from pipelines.prefect_view import mirror, show


class Server:
    """What replaces Prefect's server and its API: flow runs and tasks by their ids, logs, artifacts by their keys."""

    def __init__(self) -> None:
        self.url = "http://server"
        self.runs: dict[str, dict[str, Any]] = {}
        self.tasks: dict[str, dict[str, Any]] = {}
        self.logs: list[str] = []
        self.artifacts: dict[str, list[Any]] = {}
        self.answers = 1_000_000  # how many requests are answered before it fails
        self.status = 0  # of the failure; 0: nothing listens

    def ask(self, path: str, body: Any = None, method: str = "POST") -> Any:
        self.answers -= 1
        if self.answers < 0:
            self._fail(self.status)
        kind, *rest = path.rstrip("/").split("/")
        if kind == "flows":
            return {"id": "flow"}
        if kind == "logs":
            self.logs += [log["message"] for log in body]
            return None
        if kind == "artifacts":
            key = rest[0] if rest else body["key"]
            self.artifacts.setdefault(key, []).append(body["data"])
            return {"id": key}
        known = self.runs if kind == "flow_runs" else self.tasks
        if not rest:
            name = body["name"]
            known.setdefault(name, {"id": name, "tags": [], "state": {"type": "PENDING"}, **body})
        elif rest[0] not in known:
            self._fail(404)
        elif rest[1:] == ["set_state"]:
            known[rest[0]]["state"] = body["state"]
        else:
            known[rest[0]] |= body or {}
        return known[rest[0] if rest else body["name"]]

    def _fail(self, status: int) -> None:
        request = httpx.Request("POST", self.url)
        if not status:
            raise httpx.ConnectError("refused", request=request)
        raise httpx.HTTPStatusError("no", request=request, response=httpx.Response(status, request=request))


@pytest.fixture()
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    it = Server()
    monkeypatch.setattr(mirror, "Api", lambda url: it)
    return it


@pytest.fixture()
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    """The journal of a run whose process is gone: a ran, b failed after it, c was skipped, d began."""
    monkeypatch.setattr(journals.identity, "alive", lambda pid, known: False)
    monkeypatch.chdir(tmp_path)
    journal = Journal(tmp_path, "rebuild", {"targets": [], "served": True})
    stages = {name: {"upstream": up, "key": name} for name, up in (("a", []), ("b", ["a"]), ("c", ["b"]))}
    journal.write("graph", tags=["project", "abc"], stages=stages)
    journal.tell(Result("late", "waiting", why="for the GPU"))
    for name in "ab":
        journal.tell(Result(name, "running", why="two", lines=("one", "two")))
    journal.tell(Result("a", "ran", why="never run"))
    journal.artifact("table", "a", [{"rows": 1}], "about", "a")
    journal.tell(Result("b", "failed", error="exit status 1"))
    journal.tell(Result("c", "skipped", error="b"))
    journal.tell(Result("d", "running"))
    journal.tell(Result("late", "stopped"))
    journal.artifact("table", "late", [], "about", "late")
    return journal


END = End("failed", "1 failed, 1 ran")
STATES = {
    "a": ("COMPLETED", "Ran"),
    "b": ("FAILED", "Failed"),
    "c": ("CANCELLED", "Skipped"),
    "d": ("CRASHED", "Crashed"),
}
LOGS = ["late for the GPU", "one\ntwo", "one\ntwo", "never run"]


def assert_shown(server: Server, journal: Journal, *state: str) -> None:
    assert not journal.path.exists()
    (run,) = server.runs.values()
    assert (run["state"]["type"], run["state"]["message"], run["tags"]) == (*state, ["project", "abc"])
    found = {name: (task["state"]["type"], task["state"]["name"]) for name, task in server.tasks.items()}
    assert found == STATES
    inputs = {
        name: [it["id"] for it in task["task_inputs"]["wait_for"]] for name, task in server.tasks.items()
    }
    assert inputs == {"a": [], "b": ["a"], "c": ["b"], "d": []}
    assert server.logs == LOGS
    assert {key: [json.loads(it) for it in data] for key, data in server.artifacts.items()} == {
        "a": [[{"rows": 1}]]
    }


def test_a_run_that_ended_is_shown_and_its_journal_deleted(server: Server, journal: Journal) -> None:
    journal.end(END)
    mirror.settle(journal.root, server.url)
    assert_shown(server, journal, "FAILED", END.message)


def test_a_server_that_fails_at_any_request_gets_every_event_once_in_the_end(
    server: Server, journal: Journal
) -> None:
    journal.end(END)
    text = journal.path.read_bytes()
    mirror.settle(journal.root, server.url)
    requests = 1_000_000 - server.answers
    for answered in range(requests):
        server.__init__()  # type: ignore[misc]
        journal.path.write_bytes(text)
        server.answers = answered
        mirror.settle(journal.root, server.url)
        assert journal.path.exists(), answered
        server.answers = 1_000_000
        mirror.settle(journal.root, server.url)
        # What the server took from an event that it did not take whole may be there twice.
        server.logs = list(dict.fromkeys(server.logs[:2])) + server.logs[2:]
        assert server.logs[-1] == LOGS[-1] and set(server.logs) == set(LOGS), answered
        server.logs, server.artifacts = LOGS, {key: data[:1] for key, data in server.artifacts.items()}
        assert_shown(server, journal, "FAILED", END.message)


def test_a_server_with_another_database_gets_the_whole_run(server: Server, journal: Journal) -> None:
    journals.append(journal.path, "shown", flow_run="of another database", events=7)
    journal.end(END)
    mirror.settle(journal.root, server.url)
    assert_shown(server, journal, "FAILED", END.message)


def test_a_run_that_was_killed_has_crashed_and_leaves_one_notification(
    server: Server, journal: Journal
) -> None:
    with journal.path.open("a") as file:
        file.write('{"event": "sta')
    server.answers = 25
    mirror.settle(journal.root, server.url)
    server.answers, server.logs = 1_000_000, []
    mirror.settle(journal.root, server.url)
    server.logs, server.artifacts = LOGS, {key: data[:1] for key, data in server.artifacts.items()}
    assert_shown(server, journal, "CRASHED", show.KILLED)
    (line,) = (journal.root / ".nightjar/notifications.jsonl").read_text().splitlines()
    assert json.loads(line)["kind"] == "rebuild crashed"


def test_a_flow_run_that_has_its_last_state_keeps_it(server: Server, journal: Journal) -> None:
    state = {"type": "CANCELLED", "message": "in the UI"}
    server.runs["mine"] = {"id": "mine", "name": "mine", "tags": [], "state": state}
    journals.append(journal.path, "shown", flow_run="mine", events=0)
    journal.end(END)
    mirror.settle(journal.root, server.url)
    assert_shown(server, journal, "CANCELLED", "in the UI")


def test_an_artifact_that_the_server_refuses_stops_nothing(
    server: Server, journal: Journal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = server.ask

    def refuse(path: str, *rest: Any) -> Any:
        return server._fail(422) if path.startswith("artifacts") else ask(path, *rest)

    monkeypatch.setattr(server, "ask", refuse)
    journal.end(END)
    mirror.settle(journal.root, server.url)
    server.artifacts = {"a": ['[{"rows": 1}]']}
    assert_shown(server, journal, "FAILED", END.message)
    assert "artifact not shown" in capsys.readouterr().err


def test_a_cancel_in_the_ui_ends_the_run_once(
    server: Server, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "CANCEL_SECONDS", 0.0)
    server.runs["mine"] = {"id": "mine", "tags": [], "state": {"type": "CANCELLING"}}
    journals.append(journal.path, "shown", flow_run="mine", events=0)
    ended: list[bool] = []
    show.show(server, journal.path, lambda: not ended, lambda: ended.append(True))  # type: ignore[arg-type]
    assert ended == [True]


def test_a_damaged_journal_is_put_aside_and_named(
    server: Server, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.path.write_text('{"event": "begin"}\n')
    mirror.settle(journal.root, server.url)
    aside = journal.path.with_suffix(".damaged")
    assert aside.is_file() and not journal.path.exists() and str(aside) in capsys.readouterr().err


def test_a_journal_that_another_process_shows_is_left_to_it(server: Server, journal: Journal) -> None:
    with mirror.held(journal.path) as free:
        assert free
        mirror.settle(journal.root, server.url)
    assert journal.path.exists() and not server.runs


@pytest.fixture()
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(show.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("state", "last"), [("ran", 100.0), ("restored", 100.0), ("failed", 0.0), ("stopped", 0.0)]
)
def test_the_progress_of_a_stage_ends_with_it(
    clock: list[float], server: Server, state: str, last: float
) -> None:
    view = show._View(server, "run")  # type: ignore[arg-type]

    def tell(result: Result) -> None:
        view.take({"event": "stage", "at": time.time(), **result.facts(), "lines": result.lines}, True)

    server.runs["run"] = {"id": "run", "state": {"type": "RUNNING"}, "tags": []}
    view.take({"event": "graph", "stages": {"a": {"key": "a"}}, "tags": []}, True)
    tell(Result("a", "running", lines=("1 of 4",)))
    assert not server.artifacts, "a short stage has none"
    clock[0] += 5.0
    tell(Result("a", "running", lines=("loads",)))
    tell(Result("a", "running", lines=("2 of 4", "loads")))
    tell(Result("a", "running", lines=("3 of 4",)))
    tell(Result("a", state))
    assert server.artifacts == {"progress-a": [50.0, last]}, "redrawn every four seconds at most"


def test_a_message_that_is_shown_late_has_its_own_time() -> None:
    assert show._state("ran", "1 ran", time.time())["message"] == "1 ran"
    assert show._state("ran", "1 ran", 0.0)["message"] == "1 ran (on 1970-01-01 00:00:00 UTC)"
