"""A listener to the results of stages cannot fail a stage."""

from __future__ import annotations

import logging

import pytest

from pipelines.execution.results import Listeners, Result


@pytest.mark.parametrize("fault", [ValueError("no such style"), BrokenPipeError(), SystemExit(1)])
def test_a_listener_that_fails_is_logged_and_stops_nobody(
    fault: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Result] = []

    def broken(result: Result) -> None:
        raise fault

    listeners: Listeners[list[str]] = Listeners(list)
    result = Result("train", "ran")
    with listeners.listening(broken), listeners.listening(heard.append), caplog.at_level(logging.WARNING):
        listeners.tell(result)
        listeners.tell(result)
    assert heard == [result, result]
    assert len(caplog.records) == 1, "it is logged once, not for every line of every stage"
    assert type(fault).__name__ in caplog.text


def test_a_stop_is_no_fault_of_a_listener() -> None:
    def stopped(result: Result) -> None:
        raise KeyboardInterrupt

    listeners: Listeners[list[str]] = Listeners(list)
    with listeners.listening(stopped), pytest.raises(KeyboardInterrupt):
        listeners.tell(Result("train", "ran"))
