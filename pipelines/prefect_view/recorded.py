"""Journals of runs that ended: deleted once Prefect's server has recorded the run, replayed until then.

Import this module only where Prefect's settings name the server (see server.environment).
"""

from __future__ import annotations

import contextlib
import fcntl
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import State
from prefect.exceptions import ObjectNotFound

from pipelines.execution import journal as journals
from pipelines.execution.journal import Record
from pipelines.prefect_view.show import run_state
from pipelines.project import places
from pipelines.project.notify import notify

# Events of tasks reach the server's tables a little after they were sent.
SECONDS = 10.0
# A run that the server did not take so often is not tried again.
MOST_TRIES = 6
_PAGE = 200

# Shows a journal as a flow run of its own.
Replay = Callable[[Path, Record], None]


def recorded(record: Record, seconds: float = SECONDS) -> bool:
    """Whether the server has the end of the run and of all its tasks; waits so long for what is on its way.

    Raises what Prefect's client does if the server does not answer.
    """
    if not record.shown:
        return False
    run, wanted = UUID(record.shown[-1][0]), run_state(record.end).type
    deadline = time.monotonic() + seconds
    with get_client(sync_client=True) as client:
        while True:
            try:
                state = client.read_flow_run(run).state
            except ObjectNotFound:  # another database
                return False
            if state is not None and state.type == wanted and _ended(run) >= len(record.results):
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.25)


def _ended(run: UUID) -> int:
    """How many tasks of a flow run have ended, as the server knows."""
    wanted, found, page = FlowRunFilter(id=FlowRunFilterId(any_=[run])), 0, 0
    with get_client(sync_client=True) as client:
        while tasks := client.read_task_runs(flow_run_filter=wanted, limit=_PAGE, offset=page):
            found += sum(it.state is not None and it.state.is_final() for it in tasks)
            page += _PAGE
    return found


@contextlib.contextmanager
def _held(path: Path) -> Iterator[bool]:
    """Whether the journal could be locked, in the block, against another process that shows it."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def settle(root: Path, replay: Replay | None = None) -> None:
    """Delete the journals of runs that ended and that the server has recorded; those that it has not, `replay` shows
    again.
    """
    for path in sorted((root / places.RUNS).glob("*.jsonl")):
        try:
            with _held(path) as free:
                record = journals.read(path)
                if free and not record.alive:
                    keep(root, path, record, replay)
        except FileNotFoundError:
            continue  # settled by another process
        except journals.Damaged as error:
            _aside(path, str(error))
        except Exception as error:  # the server is away, or of another version
            print(
                f"nightjar: not recorded yet: {path.name}: {type(error).__name__}: {error}", file=sys.stderr
            )


def follow(root: Path, path: Path, replay: Replay) -> bool:
    """Show the journal of a run that may not have ended; returns whether the server has recorded it."""
    with _held(path) as free:
        return free and keep(root, path, journals.read(path), replay)


def keep(root: Path, path: Path, record: Record, replay: Replay | None) -> bool:
    """Delete the journal if the server has recorded its run, if need be by `replay`; returns whether it has. A run of a
    deployment that was killed leaves a line in the project's notifications.
    """
    waits = 0.0 if replay is None or record.end is None else SECONDS / 2
    if not recorded(record, waits):
        if replay is None:
            return False
        if len(record.shown) >= MOST_TRIES:
            _aside(path, f"the server did not take it {MOST_TRIES} times")
            return False
        notify_crash(root, record)
        close(record)
        replay(path, record)
        if not recorded(journals.read(path)):
            return False
    path.unlink(missing_ok=True)
    return True


def close(record: Record) -> None:
    """Take the flow runs that show a part of the run off the server: a whole one replaces them. One that a deployment
    started remains, with the end of the run.
    """
    with get_client(sync_client=True) as client:
        for run, served in record.shown:
            with contextlib.suppress(ObjectNotFound):
                if served:
                    state: State = run_state(record.end)
                    client.set_flow_run_state(UUID(run), state, force=True)
                else:
                    client.delete_flow_run(UUID(run))


def notify_crash(root: Path, record: Record) -> None:
    """Leave a line in the project's notifications if the run, which nobody watched, was killed."""
    name, kind = record.begin["name"], record.begin["kind"]
    if (
        record.end is None
        and not record.alive
        and record.begin["parameters"].get("served")
        and kind == "rebuild"
    ):
        message = f"the rebuild {name} was killed"
        notify(root, {"kind": "rebuild crashed", "run": name, "message": message})


def _aside(path: Path, reason: str) -> None:
    aside = path.with_suffix(".damaged")
    with contextlib.suppress(OSError):
        path.rename(aside)
    print(f"nightjar: not recorded: {path.name}: {reason} (kept as {aside})", file=sys.stderr)
