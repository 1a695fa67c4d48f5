"""Names: of runs, of stages as DVC writes them, of artifacts in the Prefect UI, and of secrets in the environment."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

# The files of DVC at a project's root.
GRAPH, LOCK_FILE = "dvc.yaml", "dvc.lock"
# The keys of a run's own artifacts, and the prefix of those of a stage's checks.
OWN = ("nightly", "rebuild")
CHECK = "check-"
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


def stage_keys(stages: Iterable[str]) -> dict[str, str]:
    """The key of each stage: lowercase letters, digits and dashes, such as ingest-natural-instructions.

    A key that another stage or artifact would have too gets a part of the name's hash.
    """
    plain = {name: re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "stage" for name in stages}
    used = Counter((*OWN, *(CHECK + key for key in set(plain.values()))))
    used.update(plain.values())
    digests = {name: hashlib.sha256(name.encode()).hexdigest()[:8] for name in plain}
    return {name: key if used[key] == 1 else f"{key}-{digests[name]}" for name, key in plain.items()}


def without(names: Collection[str] = SECRETS) -> dict[str, str]:
    """The environment without these variables, and without the settings of Prefect."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in names and not name.startswith("PREFECT_")
    }
