"""The ledger of nightly evaluations: the tables of an entry, see pipelines/history/entry.py.

Local and append-only; a run is a moment, so here clocks and hardware are kept. `parameters`, `versions`, `hardware`,
`stages` and `files` are JSON objects. `files` has the sha256 of the other tables in entries of earlier versions; it is
empty in entries with a manifest.
"""

from __future__ import annotations

import pyarrow as pa

from nightjar.core.contracts.evaluation import FINITE, SCORES
from nightjar.core.contracts.table import STRINGS, Table, schema

LEDGER_RUN = Table(
    "run",
    1,
    schema(
        ("run", pa.string()),
        ("sequence", pa.int64()),
        ("started", pa.timestamp("ms", tz="UTC")),
        ("ended", pa.timestamp("ms", tz="UTC")),
        ("state", pa.string()),
        ("message", pa.string()),
        ("accepted", pa.bool_()),
        ("against", pa.string(), True),
        ("commit", pa.string()),
        ("changed", STRINGS),
        ("lock_sha256", pa.string()),
        ("parameters", pa.string()),
        ("parameters_sha256", pa.string()),
        ("seed", pa.int64(), True),
        ("versions", pa.string()),
        ("hardware", pa.string()),
        ("stages", pa.string()),
        ("files", pa.string()),
    ),
    key=("run",),
    allowed={"state": frozenset({"good", "worse", "failed"})},
)
LEDGER_SCORES = SCORES
# One row a part of a metric; `content` is a digest of the question and its references where they are known.
LEDGER_INSTANCES = Table(
    "instances",
    1,
    schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("metric", pa.string()),
        ("task_id", pa.string()),
        ("id", pa.string()),
        ("content", pa.string(), True),
        ("value", pa.float64()),
    ),
    key=("benchmark", "system", "task_id", "id", "metric"),
    ranges={"value": FINITE},
)
# A cell's paired difference from the run it is compared with, in the unit of the metric; null where not comparable.
LEDGER_VERDICTS = Table(
    "verdicts",
    1,
    schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("metric", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("n", pa.int64()),
        ("now", pa.float64(), True),
        ("before", pa.float64(), True),
        ("value", pa.float64(), True),
        ("low", pa.float64(), True),
        ("high", pa.float64(), True),
        ("p", pa.float64(), True),
        ("p_corrected", pa.float64(), True),
        ("better", pa.int64(), True),
        ("worse", pa.int64(), True),
        ("equal", pa.int64(), True),
    ),
    key=("benchmark", "system", "track", "metric"),
    allowed={"verdict": frozenset({"better", "worse", "unchanged", "not comparable"})},
)
