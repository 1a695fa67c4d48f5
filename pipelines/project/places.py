"""Where a project keeps its state under .nightjar, and the environment that drivers pass on."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

FOLDER = Path(".nightjar")

# Locks and the facts of what runs. That of the nightly says when the last one began.
REBUILD_LOCK = FOLDER / "rebuild.lock"
NIGHTLY_LOCK = FOLDER / "nightly.lock"
SERVE_LOCK = FOLDER / "serve.lock"
SERVER = FOLDER / "server.json"
SERVER_LOCK = FOLDER / "server.lock"

# Clones, made anew for every use.
STUDY_CLONE = FOLDER / "study"
NIGHTLY_CLONE = FOLDER / "nightly"

# The page of the last comparison.
AGAINST = FOLDER / "against"

# Of runs: logs, the database of Prefect, and the marks of runs that Prefect's server does not have yet.
LOGS = FOLDER / "logs"
STUDY_LOGS = LOGS / "study"
PREFECT = FOLDER / "prefect"
RUNS = FOLDER / "runs"

# Kept between runs: the outcome of checks, scores of runs, entries that the ledger could not take, the
# profile, params.yaml as it was before `nightjar use` removed entries that no profile has, and the seconds of answers.
CHECKS = FOLDER / "checks"
SCORES = FOLDER / "scores.jsonl"
LEDGER_ASIDE = FOLDER / "ledger-aside"
PROFILE = FOLDER / "profile"
PARAMS_BEFORE = FOLDER / "params.before.yaml"
TIMINGS = FOLDER / "timings"


# What no stage needs: the address of the webhook, and the password of the database.
WEBHOOK, PASSWORD = SECRETS = ("NIGHTJAR_WEBHOOK", "PGPASSWORD")


def without(names: Collection[str] = SECRETS) -> dict[str, str]:
    """The environment without these variables, and without the settings of Prefect."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in names and not name.startswith("PREFECT_")
    }
