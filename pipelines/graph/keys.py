"""The keys of artifacts in the Prefect UI: every stage of a graph has its own, and so a history of its own."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

# A run's own artifacts, and what stands before the key of a stage in those of its checks and its progress.
OWN = ("nightly", "rebuild", "report-page", "scores-history", "scores-plot")
CHECK, PROGRESS = "check-", "progress-"


def stage_keys(stages: Iterable[str]) -> dict[str, str]:
    """The key of each stage: lowercase letters, digits and dashes, such as
    ingest-natural-instructions.

    Of names that would come out the same, or as the key of another artifact, each gets part of a hash.
    """
    plain = {name: re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "stage" for name in stages}
    used = Counter((*OWN, *(prefix + key for key in set(plain.values()) for prefix in (CHECK, PROGRESS))))
    used.update(plain.values())
    return {name: key if used[key] == 1 else f"{key}-{_digest(name)}" for name, key in plain.items()}


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]
