"""The questions of a night: at most `nightly.limit` of each task, and the same ones every night.

Which questions are drawn depends on their ids alone, so a larger sample contains every smaller one.
"""

from __future__ import annotations

from collections import Counter

from nightjar.benchmarks.evaluation_folder import replace_by_subset
from nightjar.benchmarks.question import QuestionSelection
from nightjar.core import contracts, tables
from pipelines.nightly.nightly_facts import has_questions
from pipelines.nightly.stages import Night


def draw(night: Night, limit: int | None) -> dict[str, dict[str, int]]:
    """Replace the artifacts with questions in the clone of the night by a sample of at most `limit` of each task.

    Returns, for every stage that reads questions, the limit and the number of `questions`; nothing without a limit.
    """
    facts: dict[str, dict[str, int]] = {}
    if limit is None:
        return facts
    readers: dict[str, list[str]] = {}
    for stage in night.graph.stages.values():
        for dep in stage.deps:
            if has_questions(night.work / dep):
                readers.setdefault(dep, []).append(stage.name)
    for path, names in sorted(readers.items()):
        rows = tables.read_rows(night.work / path, contracts.QUESTIONS, ["task_id"])
        tasks = Counter(row["task_id"] for row in rows)
        count = sum(min(limit, size) for size in tasks.values())
        facts |= {name: {"limit": limit, "questions": count} for name in names}
        if count < len(rows):
            replace_by_subset(night.work / path, QuestionSelection(tasks, limit, 0))
    return facts
