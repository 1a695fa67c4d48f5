"""A stage that dvc.yaml marks as safe to try again (`meta: {attempts: 3}`) is, after a pause that doubles each time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pipelines.execution.run_stage import Outcome

LONGEST_PAUSE = 300.0
# What our stages, and most commands, end with when what they were given is wrong: it will be wrong again.
BAD_INPUT = 2


def run_attempts(
    run: Callable[[Path], Outcome],
    log: Path,
    attempts: int,
    pause: float,
    stop: threading.Event,
    told: Callable[[str], None],
) -> tuple[Outcome, int]:
    """Call `run` with a log file until it does not fail, at most `attempts` times; how it ended, and how many it took.

    The first attempt writes to `log`, say a.log, the next to a.attempt-2.log. Not tried again is a stage that was
    stopped or that ended with 2: its input is bad. `told` hears of every failure that another attempt follows. The
    pauses in seconds are `pause`, twice that, and so on; `stop` ends them.
    """
    for number, seconds in enumerate(pauses(pause), start=1):
        outcome = run(log if number == 1 else log.with_name(f"{log.stem}.attempt-{number}{log.suffix}"))
        if outcome.state != "failed" or outcome.exit_code == BAD_INPUT or number >= attempts:
            return outcome, number
        told(
            f"attempt {number} of {attempts} failed (exit status {outcome.exit_code}: {outcome.error}); "
            f"next in {seconds:g} s"
        )
        if stop.wait(seconds):
            return replace(outcome, state="stopped", error="stopped before its next attempt"), number
    raise AssertionError("pauses have no end")


def pauses(first: float) -> Iterator[float]:
    """Seconds to wait before each further attempt: doubled each time, up to five minutes."""
    seconds = first
    while True:
        yield min(seconds, LONGEST_PAUSE)
        seconds = min(2 * seconds, LONGEST_PAUSE)
