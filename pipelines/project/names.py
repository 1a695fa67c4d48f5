"""Names: of runs, of stages as DVC writes them, and of secrets in the environment."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

# The files of DVC at a project's root.
GRAPH, LOCK_FILE = "dvc.yaml", "dvc.lock"
# Variables of the environment that no stage needs: the address of the webhook, and the password of the database.
WEBHOOK, PASSWORD = SECRETS = ("NIGHTJAR_WEBHOOK", "PGPASSWORD")


def new_name() -> str:
    """A name for a run: the time, and what keeps it apart from another of the same second."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


@dataclass(frozen=True)
class StageName:
    """`file` is where the stage is defined, `item` its item of a `foreach`: empty for a stage of its own."""

    stage: str
    item: str = ""
    file: str = GRAPH

    @classmethod
    def of(cls, name: str) -> StageName:
        """The parts of a name."""
        group, _, item = name.partition("@")
        file, _, stage = group.rpartition(":")
        return cls(stage, item, file or GRAPH)

    @classmethod
    def predict(cls, benchmark: str, system: str) -> StageName:
        """The stage that lets a system answer a benchmark."""
        return cls("predict", f"{benchmark}-{system}")

    @property
    def group(self) -> str:
        """The name without the item: that of all items together."""
        return self.stage if self.file == GRAPH else f"{self.file}:{self.stage}"

    def __str__(self) -> str:
        return f"{self.group}@{self.item}" if self.item else self.group


def without(names: Collection[str] = SECRETS) -> dict[str, str]:
    """The environment without these variables, and without the settings of Prefect."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in names and not name.startswith("PREFECT_")
    }
