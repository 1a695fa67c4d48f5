"""What the Prefect server of a project tells its visitors."""

from __future__ import annotations

import json
import os
import sys
import urllib.request

import pytest

from pipelines import groups
from pipelines import server as servers
from tests.pipelines.conftest import Api, Repo, lives


def test_the_page_asks_its_own_server_whatever_the_port(api: Api) -> None:
    with urllib.request.urlopen(f"{api.server.url}/ui-settings", timeout=10) as answer:
        settings = json.load(answer)
    assert api.server.port != 4200
    assert settings["api_url"] == f"{api.server.url}/api"


def test_what_a_killed_run_left_is_ended_under_the_lock_of_dvc(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, group = groups.start(
        [sys.executable, "-c", "import time; time.sleep(300)"], repo.root, dict(os.environ), "a stage"
    )
    facts = json.loads(group.record.read_text())
    group.record.write_text(json.dumps(facts | {"owner_started": "another process, that has ended"}))
    reserved = repo.root / ".dvc/tmp/rwlock"
    reserved.write_text(json.dumps({"write": {"data": {"pid": process.pid, "cmd": "dvc repro"}}}))
    known = servers.Server(os.getpid(), "", 1, "ui")
    monkeypatch.setattr(servers, "find", lambda root: known)
    monkeypatch.setattr(servers, "use", lambda root, server: None)
    try:
        with servers.running(repo.root, "nightly", lambda: None) as server:
            assert server is known and not lives(process.pid)
        # Only with DVC's lock is its list of files in use changed.
        assert json.loads(reserved.read_text()) == {"read": {}, "write": {}}
    finally:
        process.kill()
        process.wait()
