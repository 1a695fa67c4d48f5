"""What models learn from and read: token ids, tool calls, and the passages of retrieval."""

from __future__ import annotations

import pyarrow as pa

from nightjar.core.contracts.table import STRINGS, Table, schema

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
TOKENS = schema(
    ("side", pa.string()), ("task_id", pa.string()), ("id", pa.string()), ("prompts", IDS), ("targets", IDS)
)
# `call` is the call without its result; in a chain, the calls before it with their results, and then the call.
CANDIDATES = Table(
    "candidates",
    1,
    schema(
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
# `text` is the text with its calls, `original` the same without them; `tools` has the tool of each call, in order.
CALLS_MERGED = Table(
    "calls",
    2,
    schema(
        ("source", pa.string()),
        ("task_id", pa.string(), True),
        ("id", pa.string()),
        ("target", pa.int32()),
        ("text", pa.string()),
        ("original", pa.string()),
        ("tools", STRINGS),
    ),
    key=("source", "task_id", "id", "target"),
    allowed={"source": frozenset({"corpus", "train"})},
)
# Documents of the corpus that no model trains on; a perplexity is measured on them.
HELD_OUT = Table("held_out", 1, schema(("id", pa.string()), ("text", pa.string())), key=("id",))
PASSAGES = Table(
    "passages",
    1,
    schema(
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
    schema(
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
# What a search found for a question, best first: numbers of passages of the index, and scores. Its texts are in the
# index: a long ranking of every question would repeat each of them many times.
RANKINGS = Table(
    "rankings",
    1,
    schema(
        ("split", pa.string()),
        ("task_id", pa.string()),
        ("id", pa.string()),
        ("passages", pa.list_(pa.field("element", pa.int64(), nullable=False))),
        ("scores", pa.list_(pa.field("element", pa.float64(), nullable=False))),
    ),
    key=("split", "task_id", "id"),
    allowed={"split": frozenset({"train", "dev", "test"})},
)
# Of the first passages of a question's ranking, the labels that a reader gives them, and the share of those labels that
# are the question's own (Guo et al. 2023, section 4.1). `ranking`: the stage that ranked them.
CONSISTENCY = Table(
    "consistency",
    1,
    schema(
        *((name, pa.string()) for name in ("benchmark", "task_id", "id", "ranking")),
        ("passages", pa.list_(pa.field("element", pa.int64(), nullable=False))),
        ("labels", STRINGS),
        ("consistent", pa.float64()),
    ),
    key=("task_id", "id", "ranking"),
    allowed={"ranking": frozenset({"retrieve", "rerank"})},
    ranges={"consistent": (0.0, 1.0)},
)
