"""The tables of predictions and of their scores."""

from __future__ import annotations

import pyarrow as pa

from nightjar.core.contracts.table import Table, schema

# The categories whose answers are labels, in the published form of their names.
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
    schema(
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
    schema(("system", pa.string()), ("task_id", pa.string()), ("id", pa.string()), ("seconds", pa.float64())),
    key=("system", "task_id", "id"),
)
INSTANCE_SCORES = Table(
    "instance_scores",
    1,
    schema(
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
# `low` and `high` are null below nightjar.statistics.MINIMUM instances, here and in the two tables that follow.
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
    key=("system", "track", "level", "name", "metric"),
    allowed={"level": frozenset({"overall", "category", "task"})},
    ranges={"value": (0, 100), "low": (0, 100), "high": (0, 100)},
)
# Paired differences of two systems in percent, with the p of a test that flips signs and how many instances moved.
COMPARISONS = Table(
    "comparisons",
    2,
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
    2,
    schema(
        ("benchmark", pa.string()),
        ("system", pa.string()),
        ("track", pa.string()),
        ("category", pa.string()),
        ("task_id", pa.string()),
        ("heuristic", pa.string()),
        ("n", pa.int64()),
        ("value", pa.float64()),
        ("low", pa.float64(), True),
        ("high", pa.float64(), True),
    ),
    key=("system", "track", "task_id"),
    ranges={"value": (-100, 100), "low": (-100, 100), "high": (-100, 100)},
)
