"""Names of runs, for their logs and for the ledger."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def new_name() -> str:
    """A name for a run: the time, and what keeps it apart from another of the same second."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
