"""The tables of raw data: what ingest read, how split divided it, and what contamination found in it."""

from __future__ import annotations

import pyarrow as pa

from nightjar.core.contracts.table import EXAMPLES, INSTANCE_COLUMNS, PROVENANCE, STRINGS, Table, schema

REJECTED = Table(
    "rejected",
    1,
    schema(*PROVENANCE, ("id", pa.string(), True), ("reason", pa.string()), ("raw", pa.string())),
    key=(),
)
TASKS = Table(
    "tasks",
    1,
    schema(
        *PROVENANCE,
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
INSTANCES = Table("instances", 1, schema(*INSTANCE_COLUMNS), key=("task_id", "id"), shard="task_id")
DOCUMENTS = Table(
    "documents",
    1,
    schema(
        *PROVENANCE,
        ("id", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("url", pa.string()),
        ("date", pa.date32(), True),
    ),
    key=("id",),
)
TRACKS = frozenset({"default", "xlingual"})
SPLIT_TASKS = Table(
    "split_tasks",
    1,
    schema(("track", pa.string()), ("task_id", pa.string()), ("role", pa.string()), ("reason", pa.string())),
    key=("track", "task_id"),
    allowed={"track": TRACKS, "role": frozenset({"train", "test", "excluded"})},
)
TRAIN = Table("train", 1, schema(*INSTANCE_COLUMNS), key=("task_id", "id"), shard="task_id")
# Training tasks held out to choose between versions of a model; and instances of the test tasks that do not test.
DEV = Table("dev", 1, schema(*INSTANCE_COLUMNS), key=("task_id", "id"), shard="task_id")
SUPERVISED = Table("supervised", 1, schema(*INSTANCE_COLUMNS), key=("task_id", "id"), shard="task_id")
TEST = Table(
    "test",
    1,
    schema(("track", pa.string()), ("category", pa.string()), *INSTANCE_COLUMNS),
    key=("task_id", "id"),
    shard="task_id",
    allowed={"track": TRACKS},
)
# What a part of a test question (input, reference) has in common with a side's texts: `matched` of its `ngrams`, the
# first of them in `text`, and the training text or document that has it. `whole`: all of an input that is shorter.
# `short`: a text of few words, or a short reference, which equals a training text; it counts as no overlap. The side
# questions has the training and dev questions of all benchmarks; there the source's task is BENCHMARK/TASK.
_SIDES = frozenset({"train", "dev", "questions", "supervised", "corpus"})
OVERLAPS = Table(
    "overlaps",
    2,
    schema(
        *((name, pa.string()) for name in ("benchmark", "track", "category", "task_id", "id")),
        *((name, pa.string()) for name in ("part", "side", "kind")),
        ("ngrams", pa.int32()),
        ("matched", pa.int32()),
        ("text", pa.string()),
        ("source_task_id", pa.string(), True),
        ("source_id", pa.string()),
        ("source_part", pa.string()),
    ),
    key=("benchmark", "task_id", "id", "part", "side"),
    allowed={
        "part": frozenset({"input", "reference"}),
        "side": _SIDES,
        "kind": frozenset({"ngram", "whole", "short"}),
        "source_part": frozenset({"input", "output", "text"}),
    },
)
# Test questions of a task with an overlap, by side; `any` is all sides but supervised. `share` is overlapping /
# instances.
TASK_OVERLAPS = Table(
    "task_overlaps",
    2,
    schema(
        *((name, pa.string()) for name in ("benchmark", "track", "category", "task_id", "side")),
        *((name, pa.int32()) for name in ("instances", "by_input", "by_reference", "overlapping", "mostly")),
        ("short", pa.int32()),
        ("share", pa.float64()),
    ),
    key=("benchmark", "task_id", "side"),
    allowed={"side": _SIDES | {"any"}},
    ranges={"share": (0, 1)},
)
# Test questions with retrieved passages: how many, and the ranks of the first passage with the question's words and of
# the first with a reference; null if none has.
EVIDENCE_OVERLAPS = Table(
    "evidence_overlaps",
    1,
    schema(
        *((name, pa.string()) for name in ("benchmark", "track", "category", "task_id", "id")),
        ("passages", pa.int32()),
        ("question_rank", pa.int32(), True),
        ("reference_rank", pa.int32(), True),
    ),
    key=("benchmark", "task_id", "id"),
)
