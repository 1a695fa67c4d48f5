"""The rule by which the published split was made (natural-instructions' split_tasks.py; Wang et al. 2022, section 5.1).

(a) a task with any of the twelve evaluation categories tests; (b) any other task that shares a source with a
test task, of whichever track, is excluded; (c) so are the other track's test tasks; (d) on the English track
so is every task that is not English throughout; (e) so is one task by name; (f) everything else trains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

EVALUATION_CATEGORIES = (
    "Textual Entailment",
    "Cause Effect Classification",
    "Coreference Resolution",
    "Dialogue Act Recognition",
    "Answerability Classification",
    "Overlap Extraction",
    "Word Analogy",
    "Keyword Tagging",
    "Question Rewriting",
    "Title Generation",
    "Data to Text",
    "Grammar Error Correction",
)
EXCLUDED_BY_NAME = frozenset({"task1415_youtube_caption_corrections_grammar_correction"})
TRACKS = ("default", "xlingual")


@dataclass(frozen=True)
class Task:
    """What the rule looks at."""

    task_id: str
    categories: tuple[str, ...]
    sources: tuple[str, ...]
    english: bool
    languages: tuple[str, ...] = ()

    @property
    def track(self) -> str:
        """The track on which the task tests, if it does."""
        return "default" if self.english else "xlingual"

    @property
    def category(self) -> str:
        """The category under which it is scored: the first (Tk-Instruct's compute_metrics.py)."""
        return self.categories[0] if self.categories else "none"

    @property
    def evaluates(self) -> bool:
        return any(category in EVALUATION_CATEGORIES for category in self.categories)


@dataclass(frozen=True)
class Role:
    """train, test or excluded, and why."""

    role: str
    reason: str


def task_of(row: Mapping[str, Any]) -> Task:
    """The task of a row of the table `tasks`; English if its input and output languages are only that."""
    languages = tuple(sorted({*row["input_language"], *row["output_language"]}))
    english = languages == ("English",)
    return Task(row["task_id"], tuple(row["categories"]), tuple(row["sources"]), english, languages)


def roles(tasks: Iterable[Task], track: str) -> dict[str, Role]:
    """Every task's role on a track, by task id. Where several steps exclude a task, the reason names one."""
    ordered = sorted(tasks, key=lambda task: task.task_id)
    taken: dict[str, str] = {}  # source -> the first test task that has it
    for task in ordered:
        if task.evaluates:
            for source in task.sources:
                taken.setdefault(source, task.task_id)
    return {task.task_id: _role(task, track, taken) for task in ordered}


def _role(task: Task, track: str, taken: Mapping[str, str]) -> Role:
    if task.task_id in EXCLUDED_BY_NAME:
        return Role("excluded", "excluded by name in the published split")
    if task.evaluates:
        if task.track != track:
            return Role("excluded", f"test task of the track {task.track}")
        category = next(category for category in task.categories if category in EVALUATION_CATEGORIES)
        return Role("test", f"evaluation category {category!r}")
    for source in task.sources:
        if source in taken:
            return Role("excluded", f"shares the source {source!r} with the test task {taken[source]}")
    if track == "default" and not task.english:
        return Role("excluded", "not English")
    return Role("train", "no evaluation category, and no source in common with a test task")
