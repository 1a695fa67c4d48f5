"""What becomes of a stage in a run of the graph, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipelines.run_stage import Outcome


@dataclass(frozen=True)
class Result:
    """What became of one stage: ran, cached, failed (itself or a check of what it made), skipped (something before it
    failed) or stopped; on its way there: waiting (for the GPU) or running.

    `moved` says whether its outputs may be others than before, so that what needs them has to be looked at.
    """

    stage: str
    state: str
    seconds: float = 0.0
    why: str = ""
    error: str = ""
    log: str = ""
    moved: bool = False

    @classmethod
    def of(cls, outcome: Outcome, why: str, root: Path, attempts: int = 1) -> Result:
        """The result of a stage that was run because of `why`, in so many attempts, under `root`."""
        moved = outcome.state in ("ran", "restored")
        state = "cached" if outcome.state in ("restored", "unchanged") else outcome.state
        if outcome.state == "restored":
            why = f"restored from the run cache ({why})"
        elif outcome.state == "unchanged":
            why = f"no difference in what it needs ({why})"
        if attempts > 1:
            why = f"after {attempts} attempts ({why})"
        error = outcome.error or ""
        if outcome.state == "failed":
            error = f"exit status {outcome.exit_code}: {error}"
            error += f" ({attempts} attempts)" if attempts > 1 else ""
        log = outcome.log.relative_to(root).as_posix()
        return cls(outcome.stage, state, outcome.seconds, why, error, log, moved)


Listener = Callable[[Result], None]
