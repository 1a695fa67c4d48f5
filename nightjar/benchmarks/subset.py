"""Some of a benchmark's questions as an artifact of their own: chosen tasks, and a number of each drawn by the seed."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from nightjar.benchmarks.card import Card
from nightjar.benchmarks.files import read_questions
from nightjar.benchmarks.question import Question
from nightjar.benchmarks.records import draw
from nightjar.core import contracts, tables
from nightjar.core.identity import safe_name

# Tables beside the test questions, which are copied as they are.
_SIDES = (contracts.TRAIN_QUESTIONS.name, contracts.DEV_QUESTIONS.name, "card")
# In an artifact that was replaced by a subset of itself: the artifact as it was.
WHOLE = "whole"


def tasks_of(questions: Sequence[Question]) -> list[str]:
    """The tasks of questions, in their order."""
    return list(dict.fromkeys(one.task_id for one in questions))


def left_out(card: Card, tasks: Sequence[str], lacking: Mapping[str, str]) -> dict[str, str]:
    """The tasks that cannot be answered, and why: `lacking` has the reasons by kind of task."""
    return {task: lacking[kind] for task in tasks if (kind := card.task(task).kind) in lacking}


def write_subset(
    source: Path, output: Path, tasks: Collection[str], limit: int | None, seed: int
) -> dict[str, int]:
    """Write an artifact with some test questions of the artifact `source`; returns how many each task has.

    Training and dev questions are those of `source`. Raises NightjarError if `source` is missing or damaged.
    """
    counts = {}
    chosen = draw(read_questions(source), tasks, limit, seed)
    with tables.ArtifactWriter(output) as writer:
        for name in _SIDES:
            if (source / name).is_dir():
                shutil.copytree(source / name, writer.folder(name), dirs_exist_ok=True)
        for task in tasks_of(chosen):
            rows = [one.row() for one in chosen if one.task_id == task]
            counts[task] = writer.write(contracts.QUESTIONS, rows, part=safe_name(task))
    return counts


def replace_by_subset(path: Path, tasks: Collection[str], limit: int, seed: int) -> None:
    """Replace an artifact by what `write_subset` writes of it; the artifact as it was is in the folder WHOLE there."""
    whole = path.with_name(f"{path.name}.{WHOLE}")
    path.rename(whole)
    write_subset(whole, path, tasks, limit, seed)
    whole.rename(path / WHOLE)
