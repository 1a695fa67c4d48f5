"""Questions from the records that a card's own `load` read, one track a task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from nightjar.benchmarks.question import Question
from nightjar.core import contracts


def questions(benchmark: str, data: Path) -> Iterator[Question]:
    """A question for every row of contracts.RECORDS in the artifact `data`, in its order.

    Raises NightjarError if the artifact is missing or damaged.
    """
    # Here, not above: Parquet takes long to load, and scoring files of JSON Lines does without it.
    from nightjar.core.tables import read_rows

    for row in read_rows(data, contracts.RECORDS):
        yield Question(
            benchmark,
            row["task_id"],
            row["id"],
            json.loads(row["parts"]),
            tuple(row["references"]),
            track=row["task_id"],
            category=row["category"],
            day=row["day"],
            dataset=row["dataset"],
            file=row["file"],
        )
