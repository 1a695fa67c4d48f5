"""A run of `nightjar serve`: a process of its own, which nobody watches at a terminal.

prefect_view/flows.py starts it: python -P -m pipelines.KIND.run REQUEST, where REQUEST is JSON.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nightjar.core import display, json_text
from pipelines.execution.journal import Journal
from pipelines.execution.results import End, ending
from pipelines.process.signals import at_signals
from pipelines.project.notify import notify

Run = Callable[[dict[str, Any], Journal, threading.Event], End]


def serve(kind: str, run: Run) -> None:
    """Do what the request of this process asks for, until its end or SIGTERM. `run` gets the request, the journal and
    what stops it. What it raises is notified, and is the end of the journal.
    """
    display.protect()
    request, stop = json_text.parse(sys.argv[1]), threading.Event()
    journal = Journal(Path.cwd(), kind, request, request["name"])
    with at_signals(stop.set):
        journal.end(ending(lambda: run(request, journal, stop), lambda message: failed(journal, message)))


def failed(journal: Journal, message: str) -> None:
    """Notify that the run of the journal failed."""
    notify(journal.root, {"kind": f"{journal.kind} failed", "run": journal.name, "message": message})
