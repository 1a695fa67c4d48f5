"""Contracts: the schema, the key and the checks of every Parquet table Nightjar writes.

`nightjar.core.tables` enforces them while a table is written, so an artifact that exists satisfies its contract, and a
stage whose output breaks one fails, which stops whatever is downstream.
"""

# Two tables may have one name and the same columns; a name refers to the one imported first, so the ledger's
# copies come after the pipeline's own.
from nightjar.core.contracts.data import (
    DEV,
    DOCUMENTS,
    EVIDENCE_OVERLAPS,
    INSTANCES,
    OVERLAPS,
    REJECTED,
    SPLIT_TASKS,
    SUPERVISED,
    TASK_OVERLAPS,
    TASKS,
    TEST,
    TRACKS,
    TRAIN,
)
from nightjar.core.contracts.evaluation import (
    COMPARISONS,
    DEV_QUESTIONS,
    IMPROVEMENTS,
    INSTANCE_SCORES,
    MATCHES,
    PREDICTIONS,
    QUESTIONS,
    RECORDS,
    SCORES,
    TIMINGS,
    TRAIN_QUESTIONS,
)
from nightjar.core.contracts.ledger import LEDGER_INSTANCES, LEDGER_RUN, LEDGER_SCORES, LEDGER_VERDICTS
from nightjar.core.contracts.table import EXAMPLES, STRINGS, Table
from nightjar.core.contracts.training import (
    CALLS_MERGED,
    CANDIDATES,
    CONSISTENCY,
    EVIDENCE,
    HELD_OUT,
    PASSAGES,
    RANKINGS,
    TOKENS,
    TOKENS_FILE,
)

__all__ = [
    "CALLS_MERGED",
    "CANDIDATES",
    "COMPARISONS",
    "CONSISTENCY",
    "DEV",
    "DEV_QUESTIONS",
    "DOCUMENTS",
    "EVIDENCE",
    "EVIDENCE_OVERLAPS",
    "EXAMPLES",
    "HELD_OUT",
    "IMPROVEMENTS",
    "INSTANCES",
    "INSTANCE_SCORES",
    "LEDGER_INSTANCES",
    "LEDGER_RUN",
    "LEDGER_SCORES",
    "LEDGER_VERDICTS",
    "MATCHES",
    "OVERLAPS",
    "PASSAGES",
    "PREDICTIONS",
    "QUESTIONS",
    "RANKINGS",
    "RECORDS",
    "REJECTED",
    "SCORES",
    "SPLIT_TASKS",
    "STRINGS",
    "SUPERVISED",
    "TASKS",
    "TASK_OVERLAPS",
    "TEST",
    "TIMINGS",
    "TOKENS",
    "TOKENS_FILE",
    "TRACKS",
    "TRAIN",
    "TRAIN_QUESTIONS",
    "Table",
]
