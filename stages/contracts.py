"""Contracts: the schema, the key and the checks of every Parquet table Nightjar writes.

`stages.tables` enforces them while a table is written, so an artifact that exists satisfies its contract, and a
stage whose output breaks one fails, which stops whatever is downstream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

STRINGS = pa.list_(pa.field("element", pa.string(), nullable=False))
EXAMPLES = pa.list_(
    pa.field(
        "element",
        pa.struct(
            [pa.field(name, pa.string(), nullable=False) for name in ("input", "output")]
            + [pa.field("explanation", pa.string())]
        ),
        nullable=False,
    )
)


@dataclass(frozen=True)
class Table:
    """One table: its schema, the columns that identify a row, and the allowed values or ranges of columns.

    `key` is unique in the whole artifact. `shard` names the column of which every Parquet part holds one value,
    so that uniqueness can be checked part by part in constant memory.
    """

    name: str
    version: int
    schema: pa.Schema
    key: tuple[str, ...]
    shard: str | None = None
    allowed: Mapping[str, frozenset[str]] | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None


def _schema(*fields: tuple[str, pa.DataType] | tuple[str, pa.DataType, bool]) -> pa.Schema:
    """A schema whose fields are not nullable unless a third element says so."""
    return pa.schema(
        [pa.field(field[0], field[1], nullable=len(field) > 2 and bool(field[2])) for field in fields]
    )


# Where a row came from; every table that holds source rows begins with it.
_PROVENANCE: tuple[tuple[str, pa.DataType], ...] = (("dataset", pa.string()), ("file", pa.string()))
_INSTANCE: tuple[tuple[str, pa.DataType], ...] = (
    *_PROVENANCE,
    ("task_id", pa.string()),
    ("id", pa.string()),
    ("index", pa.int32()),
    ("input", pa.string()),
    ("outputs", STRINGS),
)

REJECTED = Table(
    "rejected",
    1,
    _schema(*_PROVENANCE, ("id", pa.string(), True), ("reason", pa.string()), ("raw", pa.string())),
    key=(),
)
TASKS = Table(
    "tasks",
    1,
    _schema(
        *_PROVENANCE,
        ("task_id", pa.string()),
        ("definition", STRINGS),
        ("categories", STRINGS),
        ("sources", STRINGS),
        ("urls", STRINGS),
        ("domains", STRINGS),
        ("reasoning", STRINGS),
        ("contributors", STRINGS),
        ("input_language", STRINGS),
        ("output_language", STRINGS),
        ("instruction_language", STRINGS),
        ("license", STRINGS),
        ("positive_examples", EXAMPLES),
        ("negative_examples", EXAMPLES),
    ),
    key=("task_id",),
)
INSTANCES = Table("instances", 1, _schema(*_INSTANCE), key=("task_id", "id"), shard="task_id")
DOCUMENTS = Table(
    "documents",
    1,
    _schema(
        *_PROVENANCE,
        ("id", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("url", pa.string()),
        ("date", pa.date32(), True),
    ),
    key=("id",),
)
TRACKS = frozenset({"default", "xlingual"})
# The categories whose answers are labels, in the published form of their names (facts 1.9).
EXACT_MATCH_CATEGORIES = frozenset(
    {
        "textual_entailment",
        "cause_effect_classification",
        "coreference_resolution",
        "dialogue_act_recognition",
        "answerability_classification",
        "word_analogy",
    }
)


def category_metric(category: str) -> str:
    """The metric that is published for a category, named in any spelling: right answers where they are labels."""
    return "exact_match" if "_".join(category.lower().split()) in EXACT_MATCH_CATEGORIES else "rougeL"


SPLIT_TASKS = Table(
    "split_tasks",
    1,
    _schema(("track", pa.string()), ("task_id", pa.string()), ("role", pa.string()), ("reason", pa.string())),
    key=("track", "task_id"),
    allowed={"track": TRACKS, "role": frozenset({"train", "test", "excluded"})},
)
TRAIN = Table("train", 1, _schema(*_INSTANCE), key=("task_id", "id"), shard="task_id")
# Training tasks held out to choose between versions of a model; and instances of the test tasks that do not test.
DEV = Table("dev", 1, _schema(*_INSTANCE), key=("task_id", "id"), shard="task_id")
SUPERVISED = Table("supervised", 1, _schema(*_INSTANCE), key=("task_id", "id"), shard="task_id")
TEST = Table(
    "test",
    1,
    _schema(("track", pa.string()), ("category", pa.string()), *_INSTANCE),
    key=("task_id", "id"),
    shard="task_id",
    allowed={"track": TRACKS},
)
# What a part of a test instance (input, reference) has in common with a side's texts: `matched` of its `ngrams`, the
# first of them in `text`, and the training text or document that has it. `whole`: all of a text shorter than that.
_SIDES = frozenset({"train", "dev", "supervised", "corpus"})
OVERLAPS = Table(
    "overlaps",
    1,
    _schema(
        *((name, pa.string()) for name in ("track", "category", "task_id", "id", "part", "side", "kind")),
        ("ngrams", pa.int32()),
        ("matched", pa.int32()),
        ("text", pa.string()),
        ("source_task_id", pa.string(), True),
        ("source_id", pa.string()),
        ("source_part", pa.string()),
    ),
    key=("task_id", "id", "part", "side"),
    allowed={
        "part": frozenset({"input", "reference"}),
        "side": _SIDES,
        "kind": frozenset({"ngram", "whole"}),
        "source_part": frozenset({"input", "output", "text"}),
    },
)
# Test instances of a task with an overlap, by side; `any` is train, dev and corpus. `share` is overlapping / instances.
TASK_OVERLAPS = Table(
    "task_overlaps",
    1,
    _schema(
        *((name, pa.string()) for name in ("track", "category", "task_id", "side")),
        *((name, pa.int32()) for name in ("instances", "by_input", "by_reference", "overlapping", "mostly")),
        ("short_references", pa.int32()),
        ("share", pa.float64()),
    ),
    key=("task_id", "side"),
    allowed={"side": _SIDES | {"any"}},
    ranges={"share": (0, 1)},
)
# Not Parquet: one uncompressed Arrow file, tokens/TOKENS_FILE in the artifact, that training maps into memory. A row is
# an instance of a side (train, dev): ids of its prompt in every variant, and of every reference, the end token last.
IDS = pa.list_(
    pa.field(
        "element",
        pa.list_(pa.field("element", pa.int32(), nullable=False)),
        nullable=False,
    )
)
TOKENS_FILE = "tokens.arrow"
TOKENS = _schema(
    ("side", pa.string()), ("task_id", pa.string()), ("id", pa.string()), ("prompts", IDS), ("targets", IDS)
)
CANDIDATES = Table(
    "candidates",
    1,
    _schema(
        ("tool", pa.string()),
        ("source", pa.string()),
        ("task_id", pa.string(), True),
        ("id", pa.string()),
        ("target", pa.int32()),
        ("token", pa.int32()),
        ("offset", pa.int32()),
        ("probability", pa.float64()),
        ("call", pa.string()),
        ("result", pa.string(), True),
        ("loss_no_call", pa.float64(), True),
        ("loss_call_without_result", pa.float64(), True),
        ("loss_call_with_result", pa.float64(), True),
        ("gain", pa.float64(), True),
        ("status", pa.string()),
    ),
    key=("tool", "source", "task_id", "id", "target", "token", "call"),
    allowed={
        "source": frozenset({"corpus", "train"}),
        "status": frozenset({"kept", "below_threshold", "malformed", "no_result"}),
    },
    ranges={"probability": (0.0, 1.0)},
)
CALLS_MERGED = Table(
    "calls",
    1,
    _schema(
        ("source", pa.string()),
        ("task_id", pa.string(), True),
        ("id", pa.string()),
        ("target", pa.int32()),
        ("text", pa.string()),
        ("tools", STRINGS),
    ),
    key=("source", "task_id", "id", "target"),
    allowed={"source": frozenset({"corpus", "train"})},
)
PASSAGES = Table(
    "passages",
    1,
    _schema(
        ("passage", pa.int64()),
        ("document_id", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("start", pa.int32()),
    ),
    key=("passage",),
)
EVIDENCE = Table(
    "evidence",
    1,
    _schema(
        ("split", pa.string()),
        ("task_id", pa.string()),
        ("id", pa.string()),
        ("rank", pa.int32()),
        ("passage", pa.int64()),
        ("document_id", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("score", pa.float64()),
    ),
    key=("split", "task_id", "id", "rank"),
    allowed={"split": frozenset({"train", "dev", "test"})},
)
CALL = pa.struct(
    [
        pa.field("tool", pa.string(), nullable=False),
        pa.field("input", pa.string(), nullable=False),
        pa.field("result", pa.string()),
    ]
)
PREDICTIONS = Table(
    "predictions",
    1,
    _schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("category", pa.string()),
        ("task_id", pa.string()),
        ("id", pa.string()),
        ("prediction", pa.string()),
        ("text", pa.string()),
        ("calls", pa.list_(pa.field("element", CALL, nullable=False))),
        ("prompt", pa.string()),
        ("prompt_sha256", pa.string()),
        ("prompt_tokens", pa.int32()),
        ("new_tokens", pa.int32()),
        ("model_sha256", pa.string()),
        ("adapter_sha256", pa.string(), True),
    ),
    key=("system", "task_id", "id"),
)
# Local, outside the artifacts: a clock would make two equal runs differ.
TIMINGS = Table(
    "timings",
    1,
    _schema(
        ("system", pa.string()), ("task_id", pa.string()), ("id", pa.string()), ("seconds", pa.float64())
    ),
    key=("system", "task_id", "id"),
)
INSTANCE_SCORES = Table(
    "instance_scores",
    1,
    _schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("category", pa.string()),
        ("task_id", pa.string()),
        ("id", pa.string()),
        ("exact_match", pa.float64()),
        ("rouge1", pa.float64()),
        ("rougeL", pa.float64()),
        ("calls", pa.int32()),
    ),
    key=("system", "task_id", "id"),
    ranges={"exact_match": (0, 1), "rouge1": (0, 1), "rougeL": (0, 1)},
)
SCORES = Table(
    "scores",
    1,
    _schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("level", pa.string()),
        ("name", pa.string()),
        ("metric", pa.string()),
        ("n", pa.int64()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
    ),
    key=("system", "track", "level", "name", "metric"),
    allowed={"level": frozenset({"overall", "category", "task"})},
    ranges={"value": (0, 100), "low": (0, 100), "high": (0, 100)},
)
# Paired differences of two systems in percent, with the p of a test that flips signs and how many instances moved.
COMPARISONS = Table(
    "comparisons",
    1,
    _schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("baseline", pa.string()),
        ("track", pa.string()),
        ("level", pa.string()),
        ("name", pa.string()),
        ("metric", pa.string()),
        ("n", pa.int64()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("moved", pa.bool_()),
        ("p", pa.float64()),
        ("better", pa.int64()),
        ("worse", pa.int64()),
        ("equal", pa.int64()),
    ),
    key=("system", "baseline", "track", "level", "name", "metric"),
    allowed={"level": frozenset({"overall", "category"})},
    ranges={"value": (-100, 100), "low": (-100, 100), "high": (-100, 100), "p": (0, 1)},
)
# ROUGE-L of a system on a task minus that of the better of the two copying baselines there.
IMPROVEMENTS = Table(
    "improvements",
    1,
    _schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("category", pa.string()),
        ("task_id", pa.string()),
        ("heuristic", pa.string()),
        ("n", pa.int64()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
    ),
    key=("system", "track", "task_id"),
    ranges={"value": (-100, 100), "low": (-100, 100), "high": (-100, 100)},
)
# The ledger of nightly evaluations: the files of an entry, see pipelines/ledger.py. Local and append-only; a run is a
# moment, so here clocks and hardware are kept. `parameters`, `versions`, `hardware`, `stages` and `files` are JSON.
LEDGER_RUN = Table(
    "run",
    1,
    _schema(
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
LEDGER_SCORES = Table(
    "scores",
    SCORES.version,
    SCORES.schema,
    key=("benchmark", *SCORES.key),
    allowed=SCORES.allowed,
    ranges=SCORES.ranges,
)
# One row a metric; `content` is a digest of the instance's input and references where they are known.
LEDGER_INSTANCES = Table(
    "instances",
    1,
    _schema(
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
    ranges={"value": (0, 1)},
)
# A cell's paired difference from the run it is compared with, in percentage points; null where it is not comparable.
LEDGER_VERDICTS = Table(
    "verdicts",
    1,
    _schema(
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
