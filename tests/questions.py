"""Questions of the benchmark supernatinst, made of rows of contracts.TEST and the texts of their tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from nightjar.benchmarks.question import Question
from nightjar.core import contracts, tables

NO_TASK: Mapping[str, Any] = {"definition": ["d"], "positive_examples": [], "negative_examples": []}


def question(
    row: Mapping[str, Any], task: Mapping[str, Any] = NO_TASK, benchmark: str = "supernatinst"
) -> Question:
    """The question of a test instance, which may lack all but task_id, id and input."""
    return Question(
        benchmark,
        row["task_id"],
        row["id"],
        {"input": row.get("input", "")},
        tuple(row.get("outputs", ["o"])),
        track=row.get("track", "default"),
        category=row.get("category", "c"),
        shared={name: task[name] for name in NO_TASK},
        dataset=row.get("dataset", ""),
        file=row.get("file", ""),
    )


def write_questions(folder: Path, questions: Iterable[Question]) -> Path:
    """An artifact of the stage questions."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for one in questions:
        parts.setdefault(one.task_id, []).append(one.row())
    with tables.ArtifactWriter(folder) as writer:
        for task, rows in parts.items():
            writer.write(contracts.QUESTIONS, rows, part=task)
    return folder


def row_of(table: contracts.Table, **values: Any) -> dict[str, Any]:
    """A row of a table whose other columns are empty: null where they may be, else "", 0 or []."""

    def empty(column: pa.Field) -> Any:
        if column.nullable:
            return None
        return "" if pa.types.is_string(column.type) else [] if pa.types.is_list(column.type) else 0

    return {column.name: empty(column) for column in table.schema} | values
