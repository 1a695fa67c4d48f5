"""When the nightly was last begun, in .nightjar/nightly.json: of several missed nights one is made up for.

After days without a server, all nights that it had planned are late. The first of them runs; the others were due before
it began, and are skipped. The file is in the project, so the rule holds between two servers as well.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, ConfigDict, ValidationError

from nightjar.core.config import Model
from nightjar.core.files import write_text
from pipelines.project import places


class Attempt(Model):
    """One nightly: its run, and when it began."""

    model_config = ConfigDict(extra="ignore")  # earlier versions wrote its end too

    run: str
    began: AwareDatetime


def last(root: Path) -> Attempt | None:
    """The last attempt; None if there was none, or its file cannot be read."""
    try:
        return Attempt.model_validate_json((root / places.LAST_NIGHTLY).read_bytes())
    except (OSError, ValidationError):
        return None


def write(root: Path, attempt: Attempt) -> None:
    """Record the last attempt. To be called under the nightly's lock."""
    write_text(root / places.LAST_NIGHTLY, attempt.model_dump_json() + "\n")


def made_up_for(root: Path, due: datetime, now: datetime | None = None) -> str:
    """Why a nightly that was due at `due` need not run: another began since then. Empty if it has to.

    An attempt that began in the future, because the clock was put back, is ignored.
    """
    attempt = last(root)
    if attempt is None or not due <= attempt.began <= (now or datetime.now(UTC)):
        return ""
    return f"due {due:%Y-%m-%d %H:%M} UTC, made up for by {attempt.run} of {attempt.began:%Y-%m-%d %H:%M} UTC"
