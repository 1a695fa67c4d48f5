"""The journal of a run is read while it is written, and after its process was killed in the middle of a line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.execution import journal as journals
from pipelines.execution.journal import Journal
from pipelines.execution.results import End, Result


@pytest.fixture()
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, "rebuild", {"targets": [], "jobs": 2})


def kinds(path: Path, *living: bool) -> list[str | None]:
    answers = itertools.chain(living, itertools.repeat(False))
    return [event and event["event"] for event in journals.follow(path, lambda: next(answers))]


def test_a_reader_gets_the_events_as_they_come(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "POLL_SECONDS", 0.0)
    events: Iterator[journals.Event | None] = journals.follow(journal.path, lambda: True)
    assert (next(events) or {})["parameters"] == {"targets": [], "jobs": 2}
    assert next(events) is None
    journal.tell(Result("a", "running", why="one", lines=("one", "two")))
    event = next(events) or {}
    assert (event["stage"], event["state"], event["why"], event["lines"]) == (
        "a",
        "running",
        "one",
        ["one", "two"],
    )
    journal.end(End("completed", "1 ran"))
    journal.log("nobody reads this")
    assert [event and event["event"] for event in events] == ["end"]


def test_the_journal_of_a_run_that_is_gone_ends(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "POLL_SECONDS", 0.0)
    with journal.path.open("a") as file:
        file.write('{"event": "sta')
    assert kinds(journal.path, True, True, False) == ["begin", None]
    with journal.path.open("a") as file:
        file.write('ge"\nno JSON\n[1]\n{"at": 1}\n{"event": "log", "level": "info", "message": "x"}\n')
    assert kinds(journal.path) == ["begin", "log"]


def test_what_a_journal_says_of_its_run(journal: Journal) -> None:
    journal.tell(Result("a", "running"))
    with journal.path.open("a") as file:
        file.write('{"event": "torn')
    journals.append(journal.path, "shown", flow_run="1234", events=2)
    found = journals.read(journal.path)
    assert found.alive and found.begin["name"] == journal.name
    assert (found.flow_run, found.shown) == ("1234", 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no journal\n",
        '{"event": "begin", "pid": 1}\n',
        '{"event": "stage", "stage": 3}\n',
        '{"event": "end", "at": 1}\n',
    ],
)
def test_a_file_that_is_no_journal_is_damaged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match="not the journal"):
        journals.read(path)


def test_a_disk_without_room_loses_events_and_no_stage(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(journals.os, "write", full)
        journal.tell(Result("a", "ran"))
    journal.end(End("completed", "1 ran"))
    assert kinds(journal.path) == ["begin", "end"]
