"""The tables of predictions and of their scores."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from nightjar.core.contracts.table import PROVENANCE, STRINGS, Table, schema

# What a card's `load` reads from a dataset's own files. `parts` is a JSON object.
RECORDS = Table(
    "records",
    1,
    schema(
        *PROVENANCE,
        ("task_id", pa.string()),
        ("category", pa.string()),
        ("id", pa.string()),
        ("parts", pa.string()),
        ("references", STRINGS),
        ("day", pa.date32(), True),
    ),
    key=("task_id", "id"),
    shard="task_id",
)
# What every system is asked. `shared` and `parts` are JSON objects: the parts of a prompt that all questions of a task
# have, and those of this question. `day` is the date that the calendar gives.
QUESTIONS = Table(
    "questions",
    1,
    schema(
        ("benchmark", pa.string()),
        ("track", pa.string()),
        ("category", pa.string()),
        ("task_id", pa.string()),
        ("id", pa.string()),
        *PROVENANCE,
        ("shared", pa.string()),
        ("parts", pa.string()),
        ("references", STRINGS),
        ("day", pa.date32(), True),
    ),
    key=("task_id", "id"),
    shard="task_id",
)
# The questions that a benchmark's own systems train on, and those that choose between their weights.
TRAIN_QUESTIONS = replace(QUESTIONS, name="train_questions")
DEV_QUESTIONS = replace(QUESTIONS, name="dev_questions")
# Metrics have ranges of their own; every value is a number.
FINITE = (-1e300, 1e300)
CALL = pa.struct(
    [
        pa.field("tool", pa.string(), nullable=False),
        pa.field("input", pa.string(), nullable=False),
        pa.field("result", pa.string()),
    ]
)
# `answers` are what was generated, without calls, the first one first; `text` is the first as decoded, `calls` what was
# executed for it. A task of the kind sample has a ranked list of answers; its `text` is a JSON object: `texts` has the
# different texts that were sampled or extracted, in the order of their first appearance, with the number of times or
# the sum of their weights, `answers` the ranked answers with theirs, `without_full_stop` the weight of the texts that
# have none. With `texts`, a list can be ranked again without a model. `new_tokens` are those of all samples.
PREDICTIONS = Table(
    "predictions",
    2,
    schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("category", pa.string()),
        ("task_id", pa.string()),
        ("id", pa.string()),
        ("answers", STRINGS),
        ("text", pa.string()),
        ("calls", pa.list_(pa.field("element", CALL, nullable=False))),
        ("prompt", pa.string()),
        ("prompt_sha256", pa.string()),
        ("prompt_tokens", pa.int32()),
        ("new_tokens", pa.int32()),
        ("model_sha256", pa.string()),
        ("adapter_sha256", pa.string(), True),
    ),
    key=("benchmark", "system", "task_id", "id"),
)
# Local, outside the artifacts: a clock would make two equal runs differ.
TIMINGS = Table(
    "timings",
    1,
    schema(("system", pa.string()), ("task_id", pa.string()), ("id", pa.string()), ("seconds", pa.float64())),
    key=("system", "task_id", "id"),
)
# One row an instance and part of a metric; most metrics have one part, named like the metric.
INSTANCE_SCORES = Table(
    "instance_scores",
    2,
    schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("category", pa.string()),
        ("task_id", pa.string()),
        ("id", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
    ),
    key=("benchmark", "system", "task_id", "id", "metric"),
    ranges={"value": FINITE},
)
# For benchmarks whose questions have clusters of answers (nightjar.benchmarks.card.Match): the cluster that each answer
# of a prediction is matched to by a similarity, counted from rank 1.
MATCHES = Table(
    "matches",
    1,
    schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("task_id", pa.string()),
        ("id", pa.string()),
        ("similarity", pa.string()),
        ("rank", pa.int32()),
        ("cluster", pa.string(), True),
        ("closest", pa.string(), True),
    ),
    key=("benchmark", "system", "task_id", "id", "similarity", "rank"),
)
# Values in the unit of their metric. An interval of fewer than 20 instances is null.
SCORES = Table(
    "scores",
    2,
    schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("level", pa.string()),
        ("name", pa.string()),
        ("metric", pa.string()),
        ("n", pa.int64()),
        ("value", pa.float64()),
        ("low", pa.float64(), True),
        ("high", pa.float64(), True),
    ),
    key=("benchmark", "system", "track", "level", "name", "metric"),
    allowed={"level": frozenset({"overall", "category", "task"})},
    ranges=dict.fromkeys(("value", "low", "high"), FINITE),
)
# Paired differences of two systems in the unit of the metric, with the p of a permutation test, how many instances
# moved, and whether the difference is seen (nightjar.statistics). Interval and p of fewer than 20 instances are null.
COMPARISONS = Table(
    "comparisons",
    3,
    schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("baseline", pa.string()),
        ("track", pa.string()),
        ("level", pa.string()),
        ("name", pa.string()),
        ("metric", pa.string()),
        ("n", pa.int64()),
        ("value", pa.float64()),
        ("low", pa.float64(), True),
        ("high", pa.float64(), True),
        ("moved", pa.bool_()),
        ("p", pa.float64(), True),
        ("better", pa.int64(), True),
        ("worse", pa.int64(), True),
        ("equal", pa.int64(), True),
    ),
    key=("benchmark", "system", "baseline", "track", "level", "name", "metric"),
    allowed={"level": frozenset({"overall", "category"})},
    ranges={"p": (0, 1)},
)
# The main metric of a system on a task minus that of the best baseline there.
IMPROVEMENTS = Table(
    "improvements",
    2,
    schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("category", pa.string()),
        ("task_id", pa.string()),
        ("heuristic", pa.string()),
        ("metric", pa.string()),
        ("n", pa.int64()),
        ("value", pa.float64()),
        ("low", pa.float64(), True),
        ("high", pa.float64(), True),
    ),
    key=("benchmark", "system", "track", "task_id"),
)
