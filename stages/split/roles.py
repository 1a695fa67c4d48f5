"""The role of each task: by the rule of the published split, or by its published lists (splits/TRACK/ROLE_tasks.txt).

The rule (natural-instructions' split_tasks.py; Wang et al. 2022, section 5.1):
(a) a task with any of the twelve evaluation categories tests; (b) any other task that shares a source with a
test task, of whichever track, is excluded; (c) so are the other track's test tasks; (d) on the English track
so is every task that is not English throughout; (e) so is one task by name; (f) everything else trains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nightjar.core.contracts import LISTED
from nightjar.core.errors import NightjarError

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
class TaskTraits:
    """Properties of a task that the rule looks at."""

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


def task_of(row: Mapping[str, Any]) -> TaskTraits:
    """The task of a row of the table `tasks`; English if its input and output languages are only that."""
    languages = tuple(sorted({*row["input_language"], *row["output_language"]}))
    english = languages == ("English",)
    return TaskTraits(row["task_id"], tuple(row["categories"]), tuple(row["sources"]), english, languages)


def roles_by_rule(tasks: Iterable[TaskTraits], track: str) -> dict[str, Role]:
    """Every task's role on a track, by task id. Where several steps exclude a task, the reason names one."""
    ordered = sorted(tasks, key=lambda task: task.task_id)
    taken: dict[str, str] = {}  # source -> the first test task that has it
    for task in ordered:
        if task.evaluates:
            for source in task.sources:
                taken.setdefault(source, task.task_id)
    return {task.task_id: _role(task, track, taken) for task in ordered}


def _role(task: TaskTraits, track: str, taken: Mapping[str, str]) -> Role:
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


ROLES = ("train", "test", "excluded")


@dataclass(frozen=True)
class Lists:
    """One track's lists: the role a task is listed under, and the roles that have a list at all."""

    role_of: Mapping[str, str]
    roles: frozenset[str]

    def names(self) -> dict[str, int]:
        """Count how many tasks are listed, by role."""
        listed = list(self.role_of.values())
        return {role: listed.count(role) for role in sorted(self.roles)}

    def absent(self, tasks: Iterable[TaskTraits]) -> dict[str, int]:
        """Count how many listed tasks are not among `tasks`, by role."""
        present = {task.task_id for task in tasks}
        missing = [role for task, role in self.role_of.items() if task not in present]
        return {role: missing.count(role) for role in sorted(self.roles)}


def read_lists(folder: Path) -> dict[str, Lists]:
    """The lists in an artifact's folder `splits`, by track; tracks without any list are left out.

    Raises NightjarError if a track lists a task under two roles, which would let test tasks train.
    """
    track_lists: dict[str, Lists] = {}
    for track in TRACKS:
        role_of: dict[str, str] = {}
        roles: set[str] = set()
        for role in ROLES:
            file = folder / track / f"{role}_tasks.txt"
            if not file.is_file():
                continue
            roles.add(role)
            for task in filter(None, map(str.strip, file.read_text(encoding="utf-8").splitlines())):
                if role_of.setdefault(task, role) != role:
                    what = f"{task} is listed under {role_of[task]} and under {role}"
                    raise NightjarError(what, file, "fix the lists, or set split.official_lists to ignore")
        if roles:
            track_lists[track] = Lists(role_of, frozenset(roles))
    return track_lists


def describe_lists(folder: Path, lists: Mapping[str, Lists], used: bool = True) -> str:
    """One line: the lists that were read from `folder` with their numbers of names, or that the rule decides."""
    if not used:
        return "split.official_lists is ignore: the rule alone decides"
    if not lists:
        return f"no published lists in {folder}: the rule alone decides"
    track_texts = []
    for track in TRACKS:
        counts = lists[track].names() if track in lists else {}
        numbers = ", ".join(f"{role} {count}" for role, count in counts.items())
        track_texts.append(f"{track} {numbers} names" if numbers else f"{track} none, so the rule decides")
    return f"published lists in {folder}: {'; '.join(track_texts)}"


def roles_by_lists(tasks: Iterable[TaskTraits], track: str, lists: Lists) -> dict[str, Role]:
    """Every task's role on a track by the published lists.

    A role without a list is filled by the rule from the tasks that no list names; any other unnamed task is
    excluded, as the lists are whole where they exist.
    """
    result: dict[str, Role] = {}
    for task_id, role in roles_by_rule(tasks, track).items():
        listed = lists.role_of.get(task_id)
        if listed is not None:
            agrees = role.reason if listed == role.role else f"the rule alone would make it {role.role}"
            result[task_id] = Role(listed, f"{LISTED}; {agrees}")
        elif role.role == "excluded" or role.role not in lists.roles:
            result[task_id] = role
        else:
            result[task_id] = Role(
                "excluded", f"on no published list; the rule alone would make it {role.role}"
            )
    return result
