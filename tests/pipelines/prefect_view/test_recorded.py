"""A journal is kept until the server has recorded its run, whatever goes wrong on the way."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prefect.exceptions import ObjectNotFound

from pipelines.execution import journal as journals
from pipelines.execution.journal import Journal, Record
from pipelines.execution.results import End, Result
from pipelines.prefect_view import recorded
from pipelines.prefect_view.show import run_state


class Server:
    """What stands for Prefect's server: the flow runs that it has, each with the states of its tasks."""

    def __init__(self) -> None:
        self.runs: dict[uuid.UUID, tuple[Any, list[Any]]] = {}
        self.fault: Exception | None = None

    def add(self, path: Path, end: End | None, *tasks: Any, served: bool = False) -> uuid.UUID:
        run = uuid.uuid4()
        self.runs[run] = (run_state(end), [SimpleNamespace(state=state) for state in tasks])
        journals.append(path, "shown", flow_run=str(run), served=served)
        return run

    def read_flow_run(self, run: uuid.UUID) -> Any:
        if self.fault:
            raise self.fault
        if run not in self.runs:
            raise ObjectNotFound(OSError())
        return SimpleNamespace(state=self.runs[run][0])

    def read_task_runs(self, flow_run_filter: Any, limit: int, offset: int) -> list[Any]:
        return self.runs[flow_run_filter.id.any_[0]][1][offset : offset + limit]

    def delete_flow_run(self, run: uuid.UUID) -> None:
        del self.runs[run]

    def set_flow_run_state(self, run: uuid.UUID, state: Any, force: bool) -> None:
        self.runs[run] = (state, self.runs[run][1])


@pytest.fixture()
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    it = Server()

    @contextlib.contextmanager
    def client(sync_client: bool) -> Iterator[Server]:
        yield it

    monkeypatch.setattr(recorded, "get_client", client)
    monkeypatch.setattr(recorded, "SECONDS", 0.0)
    monkeypatch.setattr(recorded.recorded, "__defaults__", (0.0,))
    return it


END = End("completed", "1 ran")
RAN = run_state(END)


@pytest.fixture()
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The journal of a run that ended well, whose process is gone."""
    monkeypatch.setattr(journals.identity, "alive", lambda pid, known: False)
    journal = Journal(tmp_path, "rebuild", {"served": True})
    journal.tell(Result("a", "running"))
    journal.tell(Result("a", "ran"))
    journal.end(END)
    return journal.path


def test_a_run_that_is_recorded_is_not_replayed(tmp_path: Path, server: Server, ended: Path) -> None:
    server.add(ended, END, RAN)
    recorded.settle(tmp_path)
    assert not ended.exists()


@pytest.mark.parametrize("tasks", [[], [SimpleNamespace(is_final=lambda: False)]])
def test_a_run_without_all_its_tasks_is_replayed_in_place_of_the_half_one(
    tmp_path: Path, server: Server, ended: Path, tasks: list[Any]
) -> None:
    half = server.add(ended, END, *tasks)
    mine = server.add(ended, None, served=True)

    def replay(path: Path, record: Record) -> None:
        assert path == ended and record.begin["kind"] == "rebuild"
        server.add(path, END, RAN)

    recorded.settle(tmp_path)
    assert ended.exists() and half in server.runs
    recorded.settle(tmp_path, replay)
    assert not ended.exists() and half not in server.runs
    assert server.runs[mine][0].is_completed(), "the run of a deployment remains, with its end"


@pytest.mark.parametrize("error", [OSError("reset"), ValueError("an answer of another version")])
def test_a_journal_is_kept_while_the_server_does_not_take_it(
    tmp_path: Path, server: Server, ended: Path, error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    server.add(ended, END, RAN)
    server.fault = error
    recorded.settle(tmp_path, lambda path, record: None)
    assert ended.exists()
    server.fault = None
    for _ in range(recorded.MOST_TRIES):
        server.add(ended, None)
    recorded.settle(tmp_path, lambda path, record: None)
    assert not ended.exists() and "did not take it" in capsys.readouterr().err


def test_a_damaged_journal_is_put_aside_and_named(
    tmp_path: Path, server: Server, ended: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended.write_text('{"event": "begin"}\n')
    recorded.settle(tmp_path)
    aside = ended.with_suffix(".damaged")
    assert aside.is_file() and not ended.exists() and str(aside) in capsys.readouterr().err


def test_a_run_of_a_deployment_that_was_killed_is_notified(
    tmp_path: Path, server: Server, ended: Path
) -> None:
    ended.write_text("".join(ended.read_text().splitlines(keepends=True)[:2]))
    recorded.settle(tmp_path, lambda path, record: server.add(path, None, RAN) and None)
    assert not ended.exists()
    (line,) = (tmp_path / ".nightjar/notifications.jsonl").read_text().splitlines()
    assert json.loads(line)["kind"] == "rebuild crashed"
