"""A run from a terminal, shown in Prefect meanwhile."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from pipelines.commands.console import say
from pipelines.execution.journal import Journal
from pipelines.execution.results import End
from pipelines.prefect_view import server as servers
from pipelines.prefect_view.launch import Mirror
from pipelines.project import places

# The exit status of a run, by its end.
STATUS = {"completed": 0, "failed": 1, "cancelled": 130, "skipped": 2}


@contextlib.contextmanager
def watched(journal: Journal, stop: threading.Event, as_json: bool) -> Iterator[None]:
    """In the block the run of `journal` is shown in Prefect. Waits at its end until the run is recorded, but not long.

    If Prefect is missing, or its server fails, one line says so, and the run is not affected.
    """
    if not servers.installed():
        say(f"nightjar: {journal.kind}: not shown, Prefect is not installed", err=True)
        journal.path.unlink(missing_ok=True)
        yield
        return
    mirror = Mirror(journal.root, journal.path)
    until = "" if mirror.stays else " until it ends, afterwards with: nightjar ui"
    say(f"Watch it at {mirror.url}{until}", err=as_json)
    try:
        yield
    except BaseException as error:
        journal.end(End("failed", str(error) or type(error).__name__))
        raise
    finally:
        if not mirror.end(stop.is_set()):
            told = f"Prefect has not recorded this run: the next one records it (kept in {places.RUNS})"
            say(f"nightjar: {journal.kind}: {told}", err=True)
