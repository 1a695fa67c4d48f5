"""The progress of a stage while it runs, as an artifact that the Prefect UI redraws.

How far it is comes from its own lines ("step 5 of 27"), else from how long it took before. A thread of its own sends
it: a server that is slow, or gone, holds no stage up.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Iterator
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

from pipelines.execution.counts import counted
from pipelines.prefect_view import watch

# Stages that are done sooner have none.
INTERVAL = 4.0
# A stage that takes longer than before is nearly done until it is.
MOST = 95.0


def share(line: str) -> float | None:
    """How much is done, 0 to 100, by a line such as "1,200 of 5,000 documents"; None if it says nothing of the kind."""
    found = counted(line)
    return 100.0 * found[0] / found[1] if found else None


class Progress:
    """How far a stage is; `hear` takes its lines."""

    def __init__(self, expected: float | None) -> None:
        self._expected = expected
        self._began = time.monotonic()
        self._told: float | None = None
        # How the stage ended, set by whoever runs it; `whole` if it did all there was to do.
        self.ended = "failed"
        self.whole = False

    def hear(self, lines: list[str]) -> None:
        """Take note of what the stage wrote."""
        for line in lines:
            if (told := share(line)) is not None:
                self._told = told

    def now(self) -> float:
        """0 to 100."""
        if self._told is not None:
            return self._told
        if not self._expected:
            return 0.0
        return min(100.0 * (time.monotonic() - self._began) / self._expected, MOST)


@contextlib.contextmanager
def shown(key: str, stage: str, expected: float | None, interval: float = INTERVAL) -> Iterator[Progress]:
    """While the block lasts, show the progress of `stage` under `key`, in the task run of this thread.

    `expected` are the seconds that it took before.
    """
    progress = Progress(expected)
    done = threading.Event()
    about = f"{stage}: expected to take {expected:.0f} s" if expected else stage
    # A copy of the context, by which Prefect knows the task run.
    target = contextvars.copy_context().run
    thread = threading.Thread(
        target=target, args=(_show, key, stage, about, progress, interval, done), daemon=True
    )
    thread.start()
    try:
        yield progress
    finally:
        done.set()
        thread.join(timeout=2.0)


def _show(
    key: str, stage: str, about: str, progress: Progress, interval: float, done: threading.Event
) -> None:
    artifact: UUID | None = None
    shown = -1.0
    while not done.wait(interval):
        now = progress.now()
        if watch.away():
            continue
        with contextlib.suppress(Exception):  # the stage goes on, whatever ails the server
            if artifact is None:
                made = create_progress_artifact(progress=now, key=key, description=about)
                artifact = cast(UUID, made)
            elif now != shown:
                update_progress_artifact(artifact_id=artifact, progress=now)
            shown = now
    if artifact is not None and not watch.away():
        with contextlib.suppress(Exception):
            if progress.whole:
                update_progress_artifact(artifact_id=artifact, progress=100.0)
            else:
                # A share of a whole that never comes would look as if it still ran.
                update_progress_artifact(artifact, 0.0, description=f"{stage}: {progress.ended}")
