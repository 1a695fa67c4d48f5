"""Questions from the records that a card's own `load` read, one track a task, and how settings choose among them."""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterator
from pathlib import Path

from pydantic import AfterValidator

from nightjar.benchmarks.question import Question, questions_of
from nightjar.core import contracts
from nightjar.core.tables import read_rows


def read_questions(path: Path) -> list[Question]:
    """The questions of an artifact of the stage questions."""
    return questions_of(read_rows(path, contracts.QUESTIONS))


def questions(benchmark: str, data: Path, tasks: Container[str] | None = None) -> Iterator[Question]:
    """A question for every row of contracts.RECORDS in the artifact `data`, in its order; of `tasks`, or of all.

    Raises NightjarError if the artifact is missing or damaged.
    """
    for row in read_rows(data, contracts.RECORDS):
        if tasks is None or row["task_id"] in tasks:
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


def one_of(names: Collection[str], plural: str = "tasks") -> AfterValidator:
    """The check that a setting is one of `names`, which are those of `plural`."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"{plural} are {', '.join(names)}")
        return name

    return AfterValidator(check)
