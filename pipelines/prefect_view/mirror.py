"""The mirror of a run: a process that shows its journal in Prefect, on the project's server or one that it starts.

    python -P -m pipelines.prefect_view.mirror PORT JOURNAL

A run starts it (see launch.py) and does not depend on it: a server that is slow, hangs or fails affects the mirror
only, which then ends. The run starts it again, with a server at the same port. What was not recorded by the end of the
run is recorded by the next mirror.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx

from pipelines.execution import journal as journals
from pipelines.prefect_view import server as servers
from pipelines.prefect_view.api import Api
from pipelines.prefect_view.show import show
from pipelines.project import places

ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


def main(port: int, path: Path) -> None:
    """Show the journal at `path` on the project's server, and those of earlier runs that are not recorded."""
    root = Path.cwd()
    with servers.running(root, port, journals.read(path).begin["kind"]) as server:
        settle(root, server.url)
        with contextlib.suppress(FileNotFoundError):  # recorded by another process
            _record(Api(server.url), path, living=True)


def settle(root: Path, url: str) -> None:
    """Record the journals of runs that ended. One that the server does not take now remains."""
    api = Api(url)
    for path in sorted((root / places.RUNS).glob("*.jsonl")):
        try:
            _record(api, path)
        except FileNotFoundError:
            continue  # recorded by another process
        except httpx.HTTPError as error:
            print(f"nightjar: not recorded yet: {path.name}: {error}", file=sys.stderr)
        except (LookupError, TypeError, ValueError) as error:
            aside = path.rename(path.with_suffix(".damaged"))
            told = f"{path.name}: {type(error).__name__}: {error} (kept as {aside})"
            print(f"nightjar: not recorded: {told}", file=sys.stderr)


def _record(api: Api, path: Path, living: bool = False) -> None:
    """Show a journal to its end and delete it.

    Not if its run is alive and not `living`, or if another process shows it.
    """
    record = journals.read(path)
    if record.alive and not living:
        return
    with held(path) as free:
        if not free:
            return

        def cancel() -> None:
            if record.alive:
                os.kill(int(record.begin["pid"]), signal.SIGTERM)

        run, state = show(api, path, lambda: record.alive, cancel)
        if api.ask(f"flow_runs/{run}")["state"]["type"] not in ENDED:
            api.ask(f"flow_runs/{run}/set_state", {"state": state, "force": True})
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def held(path: Path) -> Iterator[bool]:
    """Whether the journal could be locked, in the block, against another process that shows it."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
