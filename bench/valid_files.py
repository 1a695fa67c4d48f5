"""Small valid files of every kind that Nightjar reads: what bench/fuzz.py breaks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nightjar.benchmarks.question import Question
from nightjar.core import contracts
from nightjar.judge import files as judge_files
from pipelines.history import ledger


def lines(*rows: dict[str, Any]) -> bytes:
    """JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def parquet(rows: list[dict[str, Any]], contract: contracts.Table) -> bytes:
    """A Parquet file of the contract's columns."""
    target = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=contract.schema), target)
    return target.getvalue()


TASK = {
    "Contributors": ["A"],
    "Source": ["s"],
    "URL": ["u"],
    "Categories": ["Title Generation"],
    "Reasoning": [],
    "Definition": ["Write a title."],
    "Input_language": ["English"],
    "Output_language": ["English"],
    "Instruction_language": ["English"],
    "Domains": ["News"],
    "Positive Examples": [{"input": "a", "output": "b", "explanation": "c"}],
    "Negative Examples": [],
    "Instances": [{"id": f"t-{n}", "input": f"text {n}", "output": [f"title {n}", "é"]} for n in range(4)],
    "Instance License": ["CC0"],
}
REFERENCES = [
    {"id": f"i{n}", "references": ["one", "two"], "task_id": "t", "task_category": "c", "track": "default"}
    for n in range(4)
]
QUESTIONS = [Question("supernatinst", "t", f"i{n}", {}, ("one", "two"), category="c") for n in range(4)]
JUDGED = [
    {**row, "prediction": "an answer", "input": "text", "definition": ["Do it.", "Well."]}
    for row in REFERENCES
]
PREDICTIONS = [{"id": f"i{n}", "prediction": f"answer {n}"} for n in range(4)]
DOCUMENTS = [
    {"id": f"d{n}", "title": "t", "text": f"text {n}", "url": "http://x/2023/01/30/"} for n in range(4)
]
INSTANCES = [
    {
        "dataset": "d",
        "file": "f",
        "task_id": "part",
        "id": f"i{n}",
        "index": n,
        "input": "x",
        "outputs": ["y"],
    }
    for n in range(3)
]
PLACE = {"task_id": "t", "id": "1", "category": "c"}
EVALUATION = {
    "asked": {
        "model": "server:http://127.0.0.1:9",
        "benchmarks": None,
        "tasks": ["t"],
        "limit": 2,
        "calls": None,
    },
    "identity": "0" * 64,
    "name": "mine",
    "tasks": {"supernatinst": ["t"], "tool_use": []},
    "left_out": {"tool_use": {"wikitext": "a server gives no log-probabilities of a given text"}},
    "scores": [{"benchmark": "supernatinst", "value": 12.5, "low": None}],
}
KEY = {
    "format": "nightjar-judge-key/1",
    "page": "f" * 64,
    "a": "mine",
    "b": "references",
    "seed": 0,
    "items": [{**PLACE, "item": "i0", "left": "a"}, {**PLACE, "id": "2", "item": "i1", "left": "b"}],
    "equal": [{**PLACE, "id": "3"}],
}
ANSWERS = {
    "format": judge_files.ANSWERS_FORMAT,
    "page": "f" * 64,
    "judge": "ann",
    "items": 2,
    "answers": [{"item": "i0", "answer": "left"}, {"item": "i1", "answer": "tie"}],
}
FACTS = {
    "stage": "split",
    "inputs": ["data/ingest"],
    "outputs": ["data/split"],
    "rows_in": 5,
    "rows_out": 4,
    "rows_rejected": 1,
    "tables": {"data/split": {"test": {"rows": 4, "version": 1}}},
    "versions": {"nightjar": "1"},
}


def ledger_row() -> dict[str, Any]:
    """The row of a nightly run."""
    row: dict[str, Any] = {name: "x" for name in contracts.LEDGER_RUN.schema.names}
    row |= dict.fromkeys(ledger.JSON, '{"a": {"b": [1, "é"]}}')
    moment = datetime(2026, 7, 1, tzinfo=UTC)
    more = {"sequence": 1, "started": moment, "ended": moment, "state": "good", "accepted": True, "seed": 1}
    return row | more | {"changed": ["a"], "files": "{}"}
