"""The environment that the drivers read and pass on."""

from __future__ import annotations

import os
from collections.abc import Collection

# What no stage needs: the address of the webhook, and the password of the database.
WEBHOOK, PASSWORD = SECRETS = ("NIGHTJAR_WEBHOOK", "PGPASSWORD")


def without(names: Collection[str] = SECRETS) -> dict[str, str]:
    """The environment without these variables, and without the settings of Prefect."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in names and not name.startswith("PREFECT_")
    }
