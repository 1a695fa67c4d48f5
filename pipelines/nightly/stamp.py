"""When the nightly was last begun, in .nightjar/nightly.json: by it missed nights are made up for once.

A server plans nights ahead; after days without one that could run them, all those it had planned are late. The first
to run is the catch-up; the others were due before it began, and are passed over. The file lies in the project, so the
rule holds between two servers as well.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nightjar.core.files import write_text
from nightjar.core.json_text import parse
from pipelines.project import places


@dataclass(frozen=True)
class Attempt:
    """One nightly: its flow run's name, when it began, and when it ended: None while it runs, or if it was killed."""

    run: str
    began: datetime
    ended: datetime | None = None


def last(root: Path) -> Attempt | None:
    """The last attempt; None if there was none, or its file cannot be read."""
    try:
        told = parse((root / places.LAST_NIGHTLY).read_bytes())
        began, ended = datetime.fromisoformat(told["began"]), told["ended"]
        return Attempt(
            str(told["run"]), began.astimezone(UTC), ended and datetime.fromisoformat(ended).astimezone(UTC)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def begin(root: Path, run: str) -> None:
    """Write down that the nightly `run` begins now. Call it under the lock of the nightly."""
    _write(root, Attempt(run, datetime.now(UTC)))


def end(root: Path) -> None:
    """Write down that the last attempt ended, well or not."""
    if attempt := last(root):
        _write(root, Attempt(attempt.run, attempt.began, datetime.now(UTC)))


def made_up_for(root: Path, due: datetime, now: datetime | None = None) -> str:
    """Why a nightly that was due at `due` need not run: another began since then. Empty if it has to.

    An attempt that began in the future (the clock was put back) says nothing.
    """
    attempt = last(root)
    if attempt is None or attempt.began > (now or datetime.now(UTC)) or attempt.began < due:
        return ""
    return f"due {due:%Y-%m-%d %H:%M} UTC, made up for by {attempt.run} of {attempt.began:%Y-%m-%d %H:%M} UTC"


def _write(root: Path, attempt: Attempt) -> None:
    ended = attempt.ended and attempt.ended.isoformat()
    text = json.dumps({"run": attempt.run, "began": attempt.began.isoformat(), "ended": ended})
    write_text(root / places.LAST_NIGHTLY, text + "\n")
