"""Results decide how a run ended, a listener cannot fail a stage, and a stage's lines say how far it is."""

from __future__ import annotations

import logging

import pytest

from nightjar.core.errors import NightjarError
from pipelines.process import lock
from pipelines.run.results import End, Result, counted, listeners


@pytest.mark.parametrize("fault", [ValueError("no such style"), BrokenPipeError(), SystemExit(1)])
def test_a_listener_that_fails_is_logged_and_stops_nobody(
    fault: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Result] = []

    def broken(result: Result) -> None:
        raise fault

    listen = listeners(broken, heard.append)
    result = Result("train", "ran")
    with caplog.at_level(logging.WARNING):
        listen(result)
        listen(result)
    assert heard == [result, result]
    assert len(caplog.records) == 1, "it is logged once, not for every line of every stage"
    assert type(fault).__name__ in caplog.text


def test_a_stop_is_no_fault_of_a_listener() -> None:
    def stopped(result: Result) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        listeners(stopped)(Result("train", "ran"))


@pytest.mark.parametrize(
    ("states", "cancelled", "end"),
    [
        (["ran", "restored", "ran"], False, End("completed", "2 ran, 1 restored")),
        (["ran", "failed", "skipped"], False, End("failed", "1 failed, 1 ran, 1 skipped")),
        (["failed", "stopped"], False, End("failed", "1 failed, 1 stopped")),
        (["ran", "stopped"], True, End("cancelled", "1 ran, 1 stopped")),
    ],
)
def test_the_end_of_a_run_counts_its_results(states: list[str], cancelled: bool, end: End) -> None:
    assert End.of([Result("a", state) for state in states], cancelled) == end


@pytest.mark.parametrize(
    ("fault", "end"),
    [
        (lock.LockHeld("a rebuild is running", "rebuild.lock", "wait"), "skipped"),
        (lock.WaitStopped(), "cancelled"),
        (NightjarError("no such stage", "a", "b"), "failed"),
        (ZeroDivisionError(), "failed"),
    ],
)
def test_what_a_run_raises_becomes_its_end(fault: Exception, end: str) -> None:
    found = End.of_error(fault)
    assert found.state == end and found.message


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("step 5 of 20, loss 1.277", (5, 20)),
        ("1,200 of 4,800 documents", (1200, 4800)),
        ("round 1 of 2: 30 of 40 texts", (30, 40)),
        ("0 of 10", (0, 10)),
        ("1 of 1 files", None),
        ("12 of 10", None),
        ("version 3.1 of 4", None),
        ("", None),
    ],
)
def test_what_a_line_says(line: str, count: tuple[int, int] | None) -> None:
    assert counted(line) == count
