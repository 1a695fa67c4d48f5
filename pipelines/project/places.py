"""The files under .nightjar, from the project's root. Git ignores the folder; what is lost with it is said here."""

from __future__ import annotations

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

# Of runs: logs, the database of Prefect, and the journals of runs that Prefect's server does not have yet.
LOGS = FOLDER / "logs"
STUDY_LOGS = LOGS / "study"
PREFECT = FOLDER / "prefect"
RUNS = FOLDER / "runs"

# Kept between runs: the outcome of checks, scores of runs, entries that the ledger could not take, the entries of
# dvc.lock that a rebuild found, the profile, params.yaml as it was before `nightjar use` removed entries that no
# profile has, and the seconds of tool calls.
CHECKS = FOLDER / "checks"
SCORES = FOLDER / "scores.jsonl"
LEDGER_ASIDE = FOLDER / "ledger-aside"
LOCK_ORDER = FOLDER / "lock_order.json"
PROFILE = FOLDER / "profile"
PARAMS_BEFORE = FOLDER / "params.before.yaml"
TIMINGS = FOLDER / "timings"
