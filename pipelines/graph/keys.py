"""The keys of artifacts in the Prefect UI. Each stage has its own key, so Prefect shows its history separately."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

# The keys of a run's own artifacts, and the prefixes of those of a stage's checks and progress.
OWN = ("nightly", "rebuild", "report-page", "scores-history")
CHECK, PROGRESS = "check-", "progress-"


def stage_keys(stages: Iterable[str]) -> dict[str, str]:
    """The key of each stage: lowercase letters, digits and dashes, such as ingest-natural-instructions.

    A key that another stage or artifact would have too gets a part of the name's hash.
    """
    plain = {name: re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "stage" for name in stages}
    used = Counter((*OWN, *(prefix + key for key in set(plain.values()) for prefix in (CHECK, PROGRESS))))
    used.update(plain.values())
    digests = {name: hashlib.sha256(name.encode()).hexdigest()[:8] for name in plain}
    return {name: key if used[key] == 1 else f"{key}-{digests[name]}" for name, key in plain.items()}
