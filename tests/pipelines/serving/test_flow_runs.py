"""The lines about served runs, from made answers of a server."""

from __future__ import annotations

from typing import Any

import httpx

from pipelines.serving.flow_runs import Runs

URL = "http://127.0.0.1:4200"


class Answers:
    """The API of a server whose runs are those of `runs`, the latest last."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self.away = False

    url = URL

    def ask(self, path: str, body: Any) -> Any:
        if self.away:
            raise httpx.ConnectError("refused")
        assert set(body["flow_runs"]["deployment_id"]["any_"]) == {"1", "2"}
        return [
            run
            for run in reversed(self.runs)
            if run["state"]["type"] in body["flow_runs"]["state"]["type"]["any_"]
        ]

    def put(self, flow: str, name: str, kind: str, message: str | None = None, started: bool = True) -> None:
        state = {"type": kind, "name": kind.capitalize(), "message": message}
        self.runs = [run for run in self.runs if run["id"] != f"id-{name}"]
        about = {
            "id": f"id-{name}",
            "name": name,
            "deployment_id": {"rebuild": "1", "nightly": "2"}[flow],
            "state": state,
        }
        self.runs.append(about | {"start_time": "now" if started else None})


def test_a_line_when_a_run_starts_and_one_when_it_ends() -> None:
    server = Answers()
    runs = Runs(server, {"1": "rebuild/p q", "2": "nightly/p q"})  # type: ignore[arg-type]
    server.put("rebuild", "old", "FAILED", "1 failed")
    assert runs.news() == []  # it ended before
    server.put("rebuild", "fox", "SCHEDULED", started=False)
    assert runs.news() == []
    server.put("rebuild", "fox", "RUNNING")
    assert runs.news() == [f"rebuild fox started: {URL}/runs/flow-run/id-fox"]
    assert runs.news() == []
    server.runs[-1]["name"] = "2 stages: changed"  # as the flow names it
    assert runs.news() == []
    server.put("rebuild", "fox", "FAILED", "1 failed")
    server.away = True
    assert runs.news() == []
    server.away = False
    assert runs.news() == ["rebuild fox ended: Failed: 1 failed"]
    assert runs.news() == []


def test_a_run_that_starts_and_ends_between_two_questions_and_one_that_never_starts() -> None:
    server = Answers()
    server.away = True
    runs = Runs(server, {"1": "rebuild/p q", "2": "nightly/p q"})  # type: ignore[arg-type]
    assert runs.news() == []
    server.away = False
    assert runs.news() == []
    server.put("nightly", "owl", "COMPLETED")
    server.put("nightly", "bat", "CANCELLED", "the slot is taken", started=False)
    assert runs.news() == [
        f"nightly owl started: {URL}/runs/flow-run/id-owl",
        "nightly owl ended: Completed",
        "nightly bat ended: Cancelled: the slot is taken",
    ]
