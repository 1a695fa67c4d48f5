"""Contracts: the schema, the key and the rules of every Parquet table that Nightjar writes.

`nightjar.core.tables` enforces them while a table is written, so an artifact that exists satisfies its contract, and a
stage whose output breaks one fails, which stops whatever is downstream. One file, although it is long: whoever looks
for a table finds it by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

TEXT, FLOAT, SHORT, LONG, FLAG = pa.string(), pa.float64(), pa.int32(), pa.int64(), pa.bool_()


def _list(element: pa.DataType) -> pa.DataType:
    """Lists of values of which none is missing."""
    return pa.list_(pa.field("element", element, nullable=False))


def _struct(*names: str, null: str) -> pa.DataType:
    """Texts of these names, of which the last, `null`, may be missing."""
    return pa.struct([*(pa.field(name, TEXT, nullable=False) for name in names), pa.field(null, TEXT)])


STRINGS = _list(TEXT)
EXAMPLES = _list(_struct("input", "output", null="explanation"))


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


def schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    """A schema of columns: each pair has their names, with blanks between them, and their type.

    A column whose name ends in `?` may have nulls.
    """
    return pa.schema(
        [
            pa.field(name.rstrip("?"), kind, nullable=name.endswith("?"))
            for names, kind in columns
            for name in names.split()
        ]
    )


# Where a row came from; every table that holds source rows begins with it.
_SOURCE = ("dataset file", TEXT)
_INSTANCE = (("dataset file task_id id", TEXT), ("index", SHORT), ("input", TEXT), ("outputs", STRINGS))
_INSTANCE_KEY = ("task_id", "id")
# Metrics have ranges of their own; every value is a number.
FINITE = (-1e300, 1e300)
_SPLITS = frozenset({"train", "dev", "test"})

# What ingest read, and how split divided it.
REJECTED = Table("rejected", 1, schema(_SOURCE, ("id? reason raw", TEXT)), key=())
TASKS = Table(
    "tasks",
    1,
    schema(
        ("dataset file task_id", TEXT),
        ("definition categories sources urls domains reasoning contributors", STRINGS),
        ("input_language output_language instruction_language license", STRINGS),
        ("positive_examples negative_examples", EXAMPLES),
    ),
    key=("task_id",),
)
INSTANCES = Table("instances", 1, schema(*_INSTANCE), key=_INSTANCE_KEY, shard="task_id")
DOCUMENTS = Table(
    "documents", 1, schema(_SOURCE, ("id title text url", TEXT), ("date?", pa.date32())), key=("id",)
)
TRACKS = frozenset({"default", "xlingual"})
# Begins the reason of a task that a published list, not the rule on sources, put where it is.
LISTED = "on the published list"
SPLIT_TASKS = Table(
    "split_tasks",
    1,
    schema(("track task_id role reason", TEXT)),
    key=("track", "task_id"),
    allowed={"track": TRACKS, "role": frozenset({"train", "test", "excluded"})},
)
TRAIN = replace(INSTANCES, name="train")
# Training tasks held out to choose between versions of a model; and instances of the test tasks that do not test.
DEV, SUPERVISED = replace(INSTANCES, name="dev"), replace(INSTANCES, name="supervised")
TEST = Table(
    "test",
    1,
    schema(("track category", TEXT), *_INSTANCE),
    key=_INSTANCE_KEY,
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
        ("benchmark track category task_id id part side kind", TEXT),
        ("ngrams matched", SHORT),
        ("text source_task_id? source_id source_part", TEXT),
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
        ("benchmark track category task_id side", TEXT),
        ("instances by_input by_reference overlapping mostly short", SHORT),
        ("share", FLOAT),
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
    schema(("benchmark track category task_id id", TEXT), ("passages question_rank? reference_rank?", SHORT)),
    key=("benchmark", "task_id", "id"),
)

# What models learn from and read. Token ids are not Parquet: one uncompressed Arrow file, tokens/TOKENS_FILE in the
# artifact, that training maps into memory. A row is an instance of a side (train, dev): ids of its prompt in every
# variant, and of every reference, the end token last.
TOKENS_FILE = "tokens.arrow"
TOKENS = schema(("side task_id id", TEXT), ("prompts targets", _list(_list(SHORT))))
# `call` is the call without its result. Whether the filter keeps one that is measured, its readers decide.
CANDIDATES = Table(
    "candidates",
    2,
    schema(
        ("tool source task_id? id", TEXT),
        ("target token offset", SHORT),
        ("probability", FLOAT),
        ("call result?", TEXT),
        ("loss_no_call? loss_call_without_result? loss_call_with_result? gain?", FLOAT),
        ("status", TEXT),
    ),
    key=("tool", "source", "task_id", "id", "target", "token", "call"),
    allowed={
        "source": frozenset({"corpus", "train"}),
        "status": frozenset({"measured", "malformed", "no_result"}),
    },
    ranges={"probability": (0.0, 1.0)},
)
# `text` is the text with its calls, `original` the same without them; `tools` has the tool of each call, in order.
CALLS_MERGED = Table(
    "calls",
    2,
    schema(("source task_id? id", TEXT), ("target", SHORT), ("text original", TEXT), ("tools", STRINGS)),
    key=("source", "task_id", "id", "target"),
    allowed={"source": frozenset({"corpus", "train"})},
)
# Documents of the corpus that no model trains on; a perplexity is measured on them.
HELD_OUT = Table("held_out", 1, schema(("id text", TEXT)), key=("id",))
PASSAGES = Table(
    "passages",
    1,
    schema(("passage", LONG), ("document_id title text", TEXT), ("start", SHORT)),
    key=("passage",),
)
EVIDENCE = Table(
    "evidence",
    1,
    schema(
        ("split task_id id", TEXT),
        ("rank", SHORT),
        ("passage", LONG),
        ("document_id title text", TEXT),
        ("score", FLOAT),
    ),
    key=("split", "task_id", "id", "rank"),
    allowed={"split": _SPLITS},
)
# What a search found for a question, best first: numbers of passages of the index, and scores. Its texts are in the
# index: a long ranking of every question would repeat each of them many times.
RANKINGS = Table(
    "rankings",
    1,
    schema(("split task_id id", TEXT), ("passages", _list(LONG)), ("scores", _list(FLOAT))),
    key=("split", "task_id", "id"),
    allowed={"split": _SPLITS},
)
# Of the first passages of a question's ranking, the labels that a reader gives them, and the share of those labels that
# are the question's own (Guo et al. 2023, section 4.1). `ranking`: what ranked them.
CONSISTENCY = Table(
    "consistency",
    1,
    schema(
        ("benchmark task_id id ranking", TEXT),
        ("passages", _list(LONG)),
        ("labels", STRINGS),
        ("consistent", FLOAT),
    ),
    key=("task_id", "id", "ranking"),
    allowed={"ranking": frozenset({"retrieve", "rerank"})},
    ranges={"consistent": (0.0, 1.0)},
)

# Predictions and their scores. What a card's `load` reads from a dataset's own files; `parts` is a JSON object.
RECORDS = Table(
    "records",
    1,
    schema(("dataset file task_id category id parts", TEXT), ("references", STRINGS), ("day?", pa.date32())),
    key=_INSTANCE_KEY,
    shard="task_id",
)
# What every system is asked. `shared` and `parts` are JSON objects: the parts of a prompt that all questions of a task
# have, and those of this question. `day` is the date that the calendar gives.
QUESTIONS = Table(
    "questions",
    1,
    schema(
        ("benchmark track category task_id id dataset file shared parts", TEXT),
        ("references", STRINGS),
        ("day?", pa.date32()),
    ),
    key=_INSTANCE_KEY,
    shard="task_id",
)
# The questions that a benchmark's own systems train on, and those that choose between their weights.
TRAIN_QUESTIONS = replace(QUESTIONS, name="train_questions")
DEV_QUESTIONS = replace(QUESTIONS, name="dev_questions")
# `answers` are what was generated, without calls, the first one first; `text` is the first as decoded, `calls` what was
# executed for it. A task of the kind sample has a ranked list of answers; its `text` is a JSON object: `texts` has the
# different texts that were sampled or extracted, in the order of their first appearance, with the number of times or
# the sum of their weights, `answers` the ranked answers with theirs, `without_full_stop` the weight of the texts that
# have none. With `texts`, a list can be ranked again without a model. `new_tokens` are those of all samples.
PREDICTIONS = Table(
    "predictions",
    2,
    schema(
        ("benchmark system track category task_id id", TEXT),
        ("answers", STRINGS),
        ("text", TEXT),
        ("calls", _list(_struct("tool", "input", null="result"))),
        ("prompt prompt_sha256", TEXT),
        ("prompt_tokens new_tokens", SHORT),
        ("model_sha256 adapter_sha256?", TEXT),
    ),
    key=("benchmark", "system", "task_id", "id"),
)
# Local, outside the artifacts: a clock would make two equal runs differ.
TIMINGS = Table(
    "timings", 1, schema(("system task_id id", TEXT), ("seconds", FLOAT)), key=("system", "task_id", "id")
)
# One row an instance and part of a metric; most metrics have one part, named like the metric. `unscaled` is the number
# before the metric's scale: 0 to 1 where the `value` of SCORES has 0 to 100.
INSTANCE_SCORES = Table(
    "instance_scores",
    3,
    schema(("benchmark system track category task_id id part", TEXT), ("unscaled", FLOAT)),
    key=("benchmark", "system", "task_id", "id", "part"),
    ranges={"unscaled": FINITE},
)
# For benchmarks whose questions have clusters of answers (nightjar.benchmarks.benchmark.Match): the cluster that each
# answer of a prediction is matched to by a similarity, counted from rank 1.
MATCHES = Table(
    "matches",
    1,
    schema(("benchmark system task_id id similarity", TEXT), ("rank", SHORT), ("cluster? closest?", TEXT)),
    key=("benchmark", "system", "task_id", "id", "similarity", "rank"),
)
# Values in the unit of their metric. An interval of fewer than 20 instances is null.
SCORES = Table(
    "scores",
    2,
    schema(("benchmark system track level name metric", TEXT), ("n", LONG), ("value low? high?", FLOAT)),
    key=("benchmark", "system", "track", "level", "name", "metric"),
    allowed={"level": frozenset({"overall", "category", "task"})},
    ranges=dict.fromkeys(("value", "low", "high"), FINITE),
)
# Paired differences of two systems in the unit of the metric, with the p of a permutation test, how many instances
# changed, and whether the difference is significant (nightjar.statistics). Interval and p of fewer than 20 instances
# are null.
COMPARISONS = Table(
    "comparisons",
    4,
    schema(
        ("benchmark system baseline track level name metric", TEXT),
        ("n", LONG),
        ("value low? high?", FLOAT),
        ("significant", FLAG),
        ("p?", FLOAT),
        ("better? worse? equal?", LONG),
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
        ("benchmark system track category task_id heuristic metric", TEXT),
        ("n", LONG),
        ("value low? high?", FLOAT),
    ),
    key=("benchmark", "system", "track", "task_id"),
)

# The ledger of nightly evaluations: the tables of an entry (pipelines/history/entry.py). Local and append-only; a run
# is a moment, so here clocks and hardware are kept. `parameters`, `versions`, `hardware`, `stages` and `files` are JSON
# objects. `files` has the sha256 of the other tables in entries of earlier versions, and is empty in others.
LEDGER_RUN = Table(
    "run",
    1,
    schema(
        ("run", TEXT),
        ("sequence", LONG),
        ("started ended", pa.timestamp("ms", tz="UTC")),
        ("state message", TEXT),
        ("accepted", FLAG),
        ("against? commit", TEXT),
        ("changed", STRINGS),
        ("lock_sha256 parameters parameters_sha256", TEXT),
        ("seed?", LONG),
        ("versions hardware stages files", TEXT),
    ),
    key=("run",),
    allowed={"state": frozenset({"good", "worse", "failed"})},
)
LEDGER_SCORES = SCORES
# One row a part of a metric; `content` is a digest of the question and its references where they are known. `metric`
# and `value` are `part` and `unscaled` of INSTANCE_SCORES by their earlier names: entries of a ledger do not change.
LEDGER_INSTANCES = Table(
    "instances",
    1,
    schema(("benchmark system track metric task_id id content?", TEXT), ("value", FLOAT)),
    key=("benchmark", "system", "task_id", "id", "metric"),
    ranges={"value": FINITE},
)
# A cell's paired difference from the run it is compared with, in the unit of the metric; null where not comparable.
LEDGER_VERDICTS = Table(
    "verdicts",
    1,
    schema(
        ("benchmark system track metric verdict reason", TEXT),
        ("n", LONG),
        ("now? before? value? low? high? p? p_corrected?", FLOAT),
        ("better? worse? equal?", LONG),
    ),
    key=("benchmark", "system", "track", "metric"),
    allowed={"verdict": frozenset({"better", "worse", "unchanged", "not comparable"})},
)
