"""Listeners of a run: none of them can stop it."""

from __future__ import annotations

import pytest

from pipelines.results import Listeners, Result


@pytest.mark.parametrize(
    "error", [BrokenPipeError(), SystemExit(1), ValueError("I/O operation on closed file")]
)
def test_a_listener_that_fails_is_dropped_and_the_others_hear_everything(error: BaseException) -> None:
    listeners: Listeners[list[str]] = Listeners(list)
    calls, heard = [], []

    def broken(result: Result) -> None:
        calls.append(result.stage)
        raise error

    with listeners.listening(broken) as first, listeners.listening(lambda result: heard.append(result.stage)):
        for stage in "ab":
            listeners.tell(Result(stage, "ran"))
        # Its outcome is still filled: the exit status depends on it.
        assert any(outcome is first for outcome in listeners.outcomes())
    assert (calls, heard) == (["a"], ["a", "b"])
    assert listeners.outcomes() == []


def test_a_stop_by_the_user_passes_through() -> None:
    listeners: Listeners[list[str]] = Listeners(list)

    def stopped(result: Result) -> None:
        raise KeyboardInterrupt

    with listeners.listening(stopped), pytest.raises(KeyboardInterrupt):
        listeners.tell(Result("a", "ran"))
