"""The side of a flow run that a rebuild, a night and a study see: what stops them, and where they show what they do."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pipelines.run.results import End, Listener, Result

if TYPE_CHECKING:
    from pipelines.run.run import Run


class RunContext(Protocol):
    """One run in the project at `root`; `serving.session.Session` is that of a Prefect flow.

    `stop` ends the run, `listen` gets the results of its stages, and `run_end` is set by whoever runs it. `prepared` is
    what a command has read before.
    """

    root: Path
    stop: threading.Event
    listen: Listener
    prepared: Any
    run_end: End

    @property
    def url(self) -> str:
        """The address of the server that shows the run."""

    def name(self, name: str) -> None:
        """Give the run a telling name."""

    def log(self, message: str, level: str = "info") -> None:
        """Add a line to the log; `level` is info or warning."""

    def artifact(self, kind: str, key: str, data: Any, description: str = "") -> None:
        """Add an artifact; `kind` is markdown or table."""

    def stages(self, run: Run) -> dict[str, Result]:
        """Run the stages of a run that are affected; return the results by stage."""
