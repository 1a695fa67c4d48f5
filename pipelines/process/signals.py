"""Ctrl-C, SIGTERM and the end of the terminal stop a command in order."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def at_signals(call: Callable[[], None]) -> Iterator[None]:
    """In the block, Ctrl-C, SIGTERM and the end of the terminal call `call` instead. Main thread only."""

    def handle(number: int, frame: FrameType | None) -> None:
        call()

    ends = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        ends.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in ends}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """In the block, SIGTERM and the end of the terminal raise KeyboardInterrupt, as Ctrl-C does."""
    stopped = False

    def interrupt() -> None:
        nonlocal stopped
        stopped = True
        raise KeyboardInterrupt

    with at_signals(interrupt):
        try:
            yield
        except Exception:
            if stopped:  # the code that was interrupted replaced it by its own exception, as pydantic does
                raise KeyboardInterrupt from None
            raise
