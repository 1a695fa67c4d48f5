"""The server of a project that is there already: one that is busy is waited for, and none is started beside it."""

from __future__ import annotations

import http.server
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from nightjar.core import paths
from pipelines.process.child import identity
from pipelines.serving import server as servers
from tests.pipelines.conftest import Repo, lives


class Busy:
    """What stands for a server: a process, and a port whose first `refusals` answers say that it is not well."""

    def __init__(self, refusals: int) -> None:
        busy = self

        class Health(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                time.sleep(busy.seconds)
                busy.refusals -= 1
                if busy.refusals == 0:
                    busy.last()
                self.send_response(503 if busy.refusals >= 0 else 200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.refusals = refusals
        # How long each answer takes.
        self.seconds = 0.0
        self.process = subprocess.Popen(["sleep", "300"], start_new_session=True)
        self.port = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
        threading.Thread(target=self.port.serve_forever, daemon=True).start()

    def last(self) -> None:
        """Called with the last refusal."""

    def end(self) -> None:
        self.process.kill()
        self.process.wait()

    def record(self, root: Path) -> servers.Server:
        pid = self.process.pid
        server = servers.Server(pid, identity(pid), self.port.server_address[1], "ui")
        (root / paths.SERVER).parent.mkdir(exist_ok=True)
        (root / paths.SERVER).write_text(json.dumps(asdict(server)))
        return server


@pytest.fixture()
def busy() -> Iterator[Busy]:
    it = Busy(3)
    yield it
    it.end()
    it.port.shutdown()
    it.port.server_close()


def test_a_busy_server_is_waited_for(busy: Busy, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = busy.record(tmp_path)
    assert servers.find(tmp_path) == server
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and f"process {server.pid}" in told and "waiting" in told
    assert servers.find(tmp_path, at_once=60) == server
    assert capsys.readouterr().err == "", "nothing is said of a server that answers at once"


def test_a_server_that_answers_slowly_each_time_is_found(busy: Busy, tmp_path: Path) -> None:
    busy.refusals, busy.seconds = 0, 0.3
    server = busy.record(tmp_path)
    assert not servers.healthy(server.url, 0.05)
    assert servers.find(tmp_path, at_once=0.05) == server


def test_a_server_that_ends_while_it_is_waited_for_is_none(busy: Busy, tmp_path: Path) -> None:
    busy.refusals, busy.last = 2, busy.end  # type: ignore[method-assign]
    busy.record(tmp_path)
    assert servers.find(tmp_path) is None
    assert servers.find(tmp_path / "nothing recorded") is None


@pytest.mark.parametrize("command", ["serve", "ui"])
def test_no_command_starts_a_server_beside_one_that_does_not_answer(
    busy: Busy, repo: Repo, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    repo.write(dvc="stages:\n  a:\n    cmd: touch a\n    outs: [a]\n")
    busy.refusals = 1_000_000
    server = busy.record(repo.root)
    monkeypatch.setattr(servers, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(servers, "start", lambda *_: pytest.fail("a second server was started"))
    done = repo.here(command)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 2
    assert (
        f"the Prefect server (process {server.pid}) does not answer" in last and "nightjar ui --stop" in last
    )
    assert lives(server.pid)
    assert json.loads((repo.root / paths.SERVER).read_text()) == asdict(server)


def test_ui_stop_ends_a_server_that_does_not_answer(busy: Busy, repo: Repo) -> None:
    busy.refusals = 1_000_000
    server = busy.record(repo.root)
    assert repo.here("ui", "--stop").returncode == 0
    assert not lives(server.pid) and not (repo.root / paths.SERVER).exists()
