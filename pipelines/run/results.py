"""The state of a stage in a run of the graph, the end of a run, and who is notified of them.

A stage is waiting (for the GPU) or running. It ends as ran, restored (from the run cache), unchanged, failed (itself or
a check of its outputs), skipped (a stage before it failed) or stopped. A run ends as completed, failed, cancelled or
skipped (another run holds its lock). All other modules use these words; pipelines/flows.py maps them to Prefect's.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from nightjar.core.errors import NightjarError
from pipelines.process import lock

# Such as "40 of 200 instances".
_OF = re.compile(r"(?<![\d.,])(\d[\d,]*) of (\d[\d,]*)(?![\d.])")
UNDERWAY = ("waiting", "running")
# A stage that ended so has all its outputs.
GOOD = ("ran", "restored", "unchanged")


@dataclass(frozen=True)
class Result:
    """The state of one stage, and why it has it.

    `error` says why it failed or was stopped, and `exit_code` is that of its command. `lines` are what a running stage
    wrote since the last result; `findings` is the table of what the checks found.
    """

    stage: str
    state: str
    seconds: float = 0.0
    why: str = ""
    error: str = ""
    log: str = ""
    exit_code: int | None = None
    lines: tuple[str, ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()

    @property
    def ended(self) -> bool:
        return self.state not in UNDERWAY

    @property
    def changed(self) -> bool:
        """Return true if its outputs may have changed."""
        return self.state in ("ran", "restored")

    def facts(self) -> dict[str, Any]:
        """The result without lines and findings, as JSON has it."""
        return {name: value for name, value in asdict(self).items() if name not in ("lines", "findings")}


Listener = Callable[[Result], None]


def listeners(*several: Listener) -> Listener:
    """One listener that calls several. One that fails fails no stage: its first failure is logged."""
    failed: list[Listener] = []

    def call(result: Result) -> None:
        for listener in several:
            try:
                listener(result)
            except (Exception, SystemExit) as error:
                if listener not in failed:
                    failed.append(listener)
                    with contextlib.suppress(OSError):
                        why = (type(error).__name__, error)
                        logging.getLogger("nightjar").warning("the display of results failed: %s: %s", *why)

    return call


@dataclass(frozen=True)
class End:
    """The end of a run, with one line about it."""

    state: Literal["completed", "failed", "cancelled", "skipped"]
    message: str

    @classmethod
    def of(cls, results: Iterable[Result], cancelled: bool) -> End:
        """The end of a run with these results, whose message counts their states."""
        counts = Counter(result.state for result in results)
        message = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
        if cancelled:
            return cls("cancelled", message)
        bad = {"failed", "stopped", "skipped"} & set(counts)
        return cls("failed" if bad else "completed", message)

    @classmethod
    def of_error(cls, error: Exception) -> Self:
        """The end of a run that raised an error."""
        match error:
            case lock.LockHeld():
                return cls("skipped", str(error))
            case lock.WaitStopped():
                return cls("cancelled", "stopped while it waited")
            case NightjarError():
                return cls("failed", str(error))
        return cls("failed", f"{type(error).__name__}: {error}")


def counted(line: str) -> tuple[int, int] | None:
    """Return how many units are done, and of how many, by the last "1,200 of 5,000" of a line; None without."""
    counts = None
    for done, total in _OF.findall(line):
        a, b = int(done.replace(",", "")), int(total.replace(",", ""))
        if 0 <= a <= b and b > 1:
            counts = a, b
    return counts
