"""The questions of Super-NaturalInstructions: the test instances of the split with the texts of their tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nightjar.benchmarks.question import Asking, Question, Sources
from nightjar.core.errors import NightjarError
from nightjar.prompts.model_text import model_input

NAME = "supernatinst"
DATASET = "natural_instructions"
_TASK = ("definition", "positive_examples", "negative_examples")


def questions(sources: Sources, settings: Any, seed: int) -> Iterator[Question]:
    """A question for every test instance of the split, in its order.

    Raises NightjarError if there is none, or an instance's task is not among those that were ingested.
    """
    # Here, not above: Parquet and the tools take long to load, and scoring files of JSON Lines does without them.
    from nightjar.core import contracts
    from nightjar.core.tables import read_rows
    from nightjar.tools.calendar import find_date

    test = read_rows(sources.split, contracts.TEST)
    if not test:
        fix = f"the split left no test task: see {sources.split}/rejected.parquet"
        raise NightjarError("no test instances", sources.split, fix)
    tasks = {row["task_id"]: row for row in read_rows(sources.data, contracts.TASKS, ["task_id", *_TASK])}
    for row in test:
        task = tasks.get(row["task_id"])
        if task is None:
            fix = "split and ingest are of different runs: rebuild"
            raise NightjarError(f"no task {row['task_id']}", sources.data, fix)
        yield Question(
            NAME,
            row["task_id"],
            row["id"],
            {"input": row["input"]},
            tuple(row["outputs"]),
            track=row["track"],
            category=row["category"],
            shared={name: task[name] for name in _TASK},
            day=find_date(row["input"]),
            dataset=row["dataset"],
            file=row["file"],
        )


def prompt(question: Question, asking: Asking) -> str:
    """The published input text of the question (ni_collator.py), with retrieved passages where they are given."""
    task = {"task_id": question.task_id, **question.shared}
    text = question.parts["input"]
    return model_input(task, text, asking.encoding, asking.tokenizer, asking.evidence, asking.encoder_decoder)
