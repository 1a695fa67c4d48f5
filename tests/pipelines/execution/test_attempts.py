"""Attempts: how often, after what pauses, in which logs, and what is not tried again."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path

import pytest

from pipelines.execution.attempts import pauses, run_attempts
from pipelines.execution.run_stage import Outcome, State


class Stage:
    """Ends as it is told, and remembers the logs that it was to write."""

    def __init__(self, *ends: tuple[State, int | None]) -> None:
        self.ends = list(ends)
        self.logs: list[str] = []

    def __call__(self, log: Path) -> Outcome:
        self.logs.append(log.name)
        state, code = self.ends[len(self.logs) - 1]
        return Outcome("s", state, 0.0, log, code, "went wrong" if state == "failed" else None)


def attempt(stage: Stage, attempts: int, told: list[str] | None = None) -> tuple[Outcome, int]:
    heard = [] if told is None else told
    return run_attempts(stage, Path("log/s@x.log"), attempts, 0.0, threading.Event(), heard.append)


def test_tried_until_it_does_not_fail_with_a_log_each() -> None:
    stage, told = Stage(("failed", 1), ("failed", 137), ("ran", None), ("ran", None)), list[str]()
    outcome, tried = attempt(stage, 5, told)
    assert (outcome.state, tried) == ("ran", 3)
    assert stage.logs == ["s@x.log", "s@x.attempt-2.log", "s@x.attempt-3.log"]
    assert told == [
        "attempt 1 of 5 failed (exit status 1: went wrong); next in 0 s",
        "attempt 2 of 5 failed (exit status 137: went wrong); next in 0 s",
    ]


@pytest.mark.parametrize(
    ("ends", "attempts", "wanted"),
    [
        ([("failed", 1)] * 9, 3, ("failed", 3)),
        ([("failed", 1)] * 9, 1, ("failed", 1)),
        ([("failed", 2)] * 9, 3, ("failed", 1)),  # bad input
        ([("stopped", -15)] * 9, 3, ("stopped", 1)),
        ([("restored", None)], 3, ("restored", 1)),
    ],
)
def test_what_is_not_tried_again(
    ends: list[tuple[State, int | None]], attempts: int, wanted: tuple[State, int]
) -> None:
    outcome, tried = attempt(Stage(*ends), attempts)
    assert (outcome.state, tried) == wanted


def test_a_stop_ends_the_pause() -> None:
    stop = threading.Event()
    began = time.monotonic()
    outcome, tried = run_attempts(Stage(("failed", 1)), Path("a.log"), 3, 60.0, stop, lambda _: stop.set())
    assert (outcome.state, tried) == ("stopped", 1) and time.monotonic() - began < 5


def test_pauses_double_up_to_five_minutes() -> None:
    assert list(itertools.islice(pauses(5.0), 8)) == [5, 10, 20, 40, 80, 160, 300, 300]
    assert list(itertools.islice(pauses(0.0), 3)) == [0, 0, 0]
