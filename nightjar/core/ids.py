"""The ids of test instances in files that people outside the project read and write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def qualified(row: Mapping[str, Any]) -> str:
    """TASK:ID of a row with `task_id` and `id`: unique, which an id alone need not be."""
    return f"{row['task_id']}:{row['id']}"


def unique_ids(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The id of each of `rows` (with `task_id` and `id`); one that occurs in several tasks as TASK:ID."""
    counts = Counter(row["id"] for row in rows)
    return [row["id"] if counts[row["id"]] == 1 else qualified(row) for row in rows]
