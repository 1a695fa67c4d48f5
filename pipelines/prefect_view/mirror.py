"""The mirror of a run: a process that shows its journal in Prefect, on the project's server or one that it starts.

    python -P -m pipelines.prefect_view.mirror PORT JOURNAL

A run starts it (see launch.py) and does not depend on it: a server that is slow, hangs or fails affects the mirror
only. It ends with status AGAIN if the server failed. The run then starts it again, with a server at the same port. What
was not recorded by the end of the run is replayed by the next mirror.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from nightjar.core import garbage
from pipelines.execution import journal as journals
from pipelines.execution.journal import Record
from pipelines.prefect_view import server as servers
from pipelines.process.identity import alive

AGAIN = 75
# How often the server is asked how it is. One that is silent so many times, 5 s each, has failed.
HEALTH_SECONDS = 2.0
SILENT_TIMES = 4
# How long the mirror remains after the process of its run is gone.
LAST_SECONDS = 20.0


def main(port: int, path: Path) -> int:
    """Show the journal at `path`, and those of earlier runs that are not recorded; returns the exit status."""
    root = Path.cwd()
    record = journals.read(path)
    with servers.running(root, port, record.begin["kind"]) as (server, process):
        from pipelines.prefect_view import recorded  # while the server starts

        if process is not None:
            servers.wait(root, server, process)
        threading.Thread(target=_watch, args=(root, server, process is not None, record), daemon=True).start()
        recorded.settle(root, replay)
        return 0 if not path.exists() or recorded.follow(root, path, replay) else AGAIN


def replay(path: Path, record: Record) -> None:
    """Show a journal as a flow run of its own."""
    from pipelines.prefect_view import flows

    flow = flows.FLOWS[record.begin["kind"]].with_options(flow_run_name=record.begin["name"])
    asked = {name: record.begin["parameters"][name] for name in flow.parameters.properties}
    with flows.showing(path):
        flow(**asked, return_state=True)
    flows.flush()


def _watch(root: Path, server: servers.Server, own: bool, record: Record) -> None:
    """End the process, and its own server, when the server fails, or some time after the run was killed."""
    silent, ended = 0, None
    while True:
        time.sleep(HEALTH_SECONDS)
        silent = 0 if servers.healthy(server.url, 5.0) else silent + 1
        ended = ended or (None if record.alive else time.monotonic())
        late = ended is not None and time.monotonic() - ended > LAST_SECONDS
        if late or silent >= SILENT_TIMES or not alive(server.pid, server.started):
            if own:
                servers.stop(root, server)
            os._exit(AGAIN)  # Prefect's threads may wait for the server


if __name__ == "__main__":
    garbage.seldom()
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2])))
