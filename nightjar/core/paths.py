"""Paths of a project's artifacts, models, facts and own files, all from the project's root.

dvc.yaml has the same paths, and a test compares the two. Git ignores `.nightjar`: the comments name its contents.
"""

from __future__ import annotations

from pathlib import Path

PARAMS_FILE = Path("params.yaml")
BASE_MODELS = Path("models/base")
LANGUAGE_MODEL, SENTENCE_ENCODER = BASE_MODELS / "language_model", BASE_MODELS / "sentence_encoder"
TRAINED, READERS, QA_READERS = Path("models/train"), Path("models/readers"), Path("models/qa")

DATA = Path("data")
# An empty file that Git has: what params.yaml names where a stage depends on nothing.
NONE = DATA / "none"
INGESTED, SPLIT = DATA / "ingest", DATA / "split"
# The files of code that each stage runs.
CODE = DATA / "code"
CORPUS, NATURAL_INSTRUCTIONS = INGESTED / "corpus", INGESTED / "natural_instructions"
CANDIDATES, CALLS = DATA / "augment", DATA / "augment_merge"
QUESTIONS, INDEX, CONTAMINATION = DATA / "questions", DATA / "index", DATA / "contamination"
RETRIEVED, RERANKED, CONSISTENCY = DATA / "retrieve", DATA / "rerank", DATA / "consistency"
ENCODED, SYSTEMS = DATA / "encode", DATA / "systems"
PREDICTIONS, SCORES, REPORT = DATA / "predict", DATA / "evaluate", DATA / "report"
# No stage's outputs: what a fresh checkout reads, and what nightlies and studies write.
SAMPLE, LEDGER, STUDIES = DATA / "sample", DATA / "ledger", DATA / "studies"

# The facts of the stages' last runs. The report reads that folder, so that its own facts are beside it.
METRICS, REPORT_METRICS = DATA / "metrics", DATA / "metrics-report.json"
# The numbers of the leaderboard, which the metrics commands of DVC show.
LEADERBOARD_SCORES = DATA / "scores.json"

# What Nightjar keeps beside a project's own files.
OWN = Path(".nightjar")

# Locks and the facts of what runs. That of the nightly says when the last one began.
REBUILD_LOCK, NIGHTLY_LOCK, SERVE_LOCK = OWN / "rebuild.lock", OWN / "nightly.lock", OWN / "serve.lock"
EVALUATE_LOCK, LEDGER_LOCK = OWN / "evaluate.lock", OWN / "ledger.lock"
SERVER, SERVER_LOCK = OWN / "server.json", OWN / "server.lock"

# Clones, made anew for every use.
STUDY_CLONE, NIGHTLY_CLONE = OWN / "study", OWN / "nightly"

# The page of the last comparison.
COMPARISON = OWN / "against"

# Of runs: logs, the database of Prefect, and the records of runs that Prefect's server does not have yet.
LOGS, PREFECT, RUNS = OWN / "logs", OWN / "prefect", OWN / "runs"
STUDY_LOGS = LOGS / "study"

# Unfinished work of stages, which they resume, and the curves of a training in progress.
CHECKPOINTS, CURVES = OWN / "checkpoints", OWN / "dvclive"
READERS_WORK = OWN / "readers"

# Kept between runs: the seconds and rows of stages, the outcome of checks, scores of runs, entries that the ledger
# could not take, the profile, params.yaml as it was before `nightjar use` removed entries that no profile has, and the
# seconds of tool calls.
HISTORY, CHECKS = OWN / "history.jsonl", OWN / "checks"
LEDGER_ASIDE, TIMINGS = OWN / "ledger-aside", OWN / "timings"
PROFILE, PARAMS_BEFORE = OWN / "profile", OWN / "params.before.yaml"
NOTIFICATIONS = OWN / "notifications.jsonl"


def metrics_file(stage: str) -> Path:
    """The path of the facts of a stage, such as data/metrics/ingest-corpus.json for ingest@corpus."""
    return REPORT_METRICS if stage == "report" else METRICS / f"{stage.replace('@', '-')}.json"


def stage_of(artifact: Path) -> str:
    """The stage that makes an artifact of the project, such as ingest@corpus for data/ingest/corpus.

    It is empty for a path that is not below `data`.
    """
    folder, *parts = artifact.parts
    if folder != DATA.name or not parts:
        return ""
    return f"{parts[0]}@{'-'.join(parts[1:])}".removesuffix("@")


def is_facts_file(file: Path) -> bool:
    """Return whether an output holds the facts of a stage."""
    return file.parent == METRICS or file == REPORT_METRICS
