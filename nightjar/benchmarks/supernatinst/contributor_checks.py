"""The fifteen checks of a task by its contributors (src/test_all.py of natural-instructions): a table, and its loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nightjar.benchmarks.supernatinst import collection_checks, task_checks
from nightjar.benchmarks.supernatinst.checked_task import (
    ERROR,
    LEVELS,
    REFUSED_FILE,
    CheckedTask,
    Flaw,
    Hierarchy,
    printable,
    read_checked_task,
)
from nightjar.benchmarks.supernatinst.collection_checks import Documents, TaskFlaw
from nightjar.benchmarks.task_file import UnreadableFile
from nightjar.core.display import counted_as, first_ids


@dataclass(frozen=True)
class Check:
    """One check: what must hold, where the published code differs from its word, and its function.

    The function looks at a task, at one that has a list of instances, or at the documents and the names of all tasks.
    """

    name: str
    about: str
    published: str = ""
    of_task: Callable[[CheckedTask], Iterable[Flaw]] | None = None
    of_instances: Callable[[CheckedTask], Iterable[Flaw]] | None = None
    of_collection: Callable[[Documents, Sequence[str]], Iterable[TaskFlaw]] | None = None


CHECKS = {
    1: Check(
        "keys",
        "every key is there, and no language key in its old lower-case spelling; Instruction_language is one of "
        "them: the published script reads it unguarded, so that a file without it fails",
        of_task=task_checks.check_keys,
    ),
    2: Check(
        "instance_count",
        "more than 25 and at most 6,500 instances",
        "exactly 25 fail, though the message says at least 25",
        of_instances=task_checks.check_instance_count,
    ),
    3: Check(
        "types",
        "lists and strings where they belong; every instance has an id of its own, an input and an output",
        "blank texts pass, and so do empty strings among the outputs, ids that are not strings, and entries of "
        "Source, URL and Contributors that are not",
        of_task=task_checks.check_types,
    ),
    4: Check(
        "example_count",
        "more than 1 positive and more than 0 negative examples",
        "the messages ask for 3 and 2",
        of_task=task_checks.check_example_count,
    ),
    5: Check(
        "examples",
        "every example has an input, an output and an explanation, all strings",
        of_task=task_checks.check_examples,
    ),
    6: Check(
        "repeated_inputs",
        "no two instances have the same input",
        of_instances=task_checks.check_repeated_inputs,
    ),
    7: Check("links", "no input holds a link", "a warning only", of_instances=task_checks.check_links),
    8: Check(
        "single_output",
        "more than one distinct output",
        "tasks 902 and 903 are exempt",
        of_instances=task_checks.check_single_output,
    ),
    9: Check(
        "skewed_outputs",
        "of fewer than 15 distinct outputs, the normalised entropy is above 0.8",
        "task 150 is exempt",
        of_instances=task_checks.check_skewed_outputs,
    ),
    10: Check(
        "leaked_examples",
        "no instance has the input of a positive example",
        of_instances=task_checks.check_leaked_examples,
    ),
    11: Check(
        "languages",
        "ISO 639 names; every definition names the input languages but English",
        "output languages need not be named",
        of_task=task_checks.check_languages,
    ),
    12: Check(
        "hierarchy",
        "every category, domain and reasoning stands in doc/task-hierarchy.md",
        "a domain or reasoning may stand there inside a longer text",
        of_task=task_checks.check_hierarchy,
    ),
    13: Check(
        "json",
        "the file is JSON and has no duplicate key",
        "duplicate keys and NaN pass, as a second parse that would see them runs only when the first fails; a byte "
        "order mark fails",
        of_task=lambda task: task.json_flaws,
    ),
    14: Check(
        "task_list",
        "named once in tasks/README.md, in the order of numbers; a name in lower case",
        of_collection=collection_checks.check_task_list,
    ),
    15: Check(
        "splits",
        "each task is in exactly one list of each track: train, test or excluded",
        of_collection=collection_checks.check_splits,
    ),
}


# Keys, types and JSON; without them the other checks of a task cannot look at all of it.
BASIC = frozenset({1, 3, 13})
TEXTS = {number for number, check in CHECKS.items() if not check.of_collection} - BASIC


@dataclass(frozen=True)
class TaskFinding:
    """Finding of a check in a task (None: in a document of the folder): `ids` are the instances, by their
    position (#0) where they have no id, or the keys, values or lines it is about.
    """

    check: int
    level: str
    message: str
    task_id: str | None = None
    ids: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "task_id": self.task_id,
            "check": self.check,
            "name": CHECKS[self.check].name,
            "level": self.level,
            "message": self.message,
            "ids": list(self.ids),
        }


def check_task(data: bytes, task_id: str, hierarchy: Hierarchy | None) -> tuple[list[TaskFinding], int]:
    """Return the findings of the checks of a task in its file's bytes, and how many instances it has.

    The check of the hierarchy is left out without one.
    """
    try:
        task = read_checked_task(data, task_id, hierarchy)
    except UnreadableFile as error:
        return [unreadable_finding(task_id, error)], 0
    findings = list[TaskFinding]()
    for number, check in CHECKS.items():
        examine = check.of_task if task.count is None else check.of_task or check.of_instances
        findings += _findings(number, ((task_id, flaw) for flaw in (examine(task) if examine else ())))
    return findings, task.count or 0


def check_collection(documents: Documents, task_ids: Sequence[str]) -> Iterator[TaskFinding]:
    """Yield the findings of the checks of the documents of a folder with these tasks."""
    for number, check in CHECKS.items():
        if check.of_collection:
            yield from _findings(number, check.of_collection(documents, task_ids))


def _findings(number: int, flaws: Iterable[TaskFlaw]) -> Iterator[TaskFinding]:
    for task_id, (level, message, ids) in flaws:
        if ids is None or ids:
            yield TaskFinding(number, level, message, task_id, tuple(ids or ()))


def unreadable_finding(task_id: str, error: UnreadableFile) -> TaskFinding:
    """Return the finding in a file that is no JSON: of such a file nothing else can be looked at."""
    return TaskFinding(13, ERROR, f"{error}{REFUSED_FILE}", printable(task_id))


@dataclass
class Report:
    """The findings of a folder in the order of its files; `not_checked` has the reason by a check's number,
    `partly` what is missing of one that could be done in part. `broken` are tasks with an error of BASIC: the other
    checks could not look at all of them.
    """

    files: int = 0
    instances: int = 0
    findings: list[TaskFinding] = field(default_factory=list)
    not_checked: dict[int, str] = field(default_factory=dict)
    partly: dict[int, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add_task(self, findings: Sequence[TaskFinding], instances: int) -> None:
        """Add the findings in a task, and how many instances it has."""
        self.instances += instances
        self.findings += findings
        if basic := [it for it in findings if it.level == ERROR and it.check in BASIC]:
            self.broken.append(basic[0].task_id or "")

    def count(self, level: str) -> int:
        return sum(finding.level == level for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the totals, a line a check, and every finding. Tasks are counted once for a check and level."""
        tasks: Counter[tuple[int, str]] = Counter()
        for check, level, _ in {(it.check, it.level, it.task_id) for it in self.findings}:
            tasks[check, level] += 1
        return {
            "files": self.files,
            "instances": self.instances,
            "seconds": round(self.seconds, 3),
            **{f"{level}s" if level != "allowed" else level: self.count(level) for level in LEVELS},
            "checks": [
                {
                    "check": number,
                    "name": check.name,
                    "status": self.status(number),
                    **{level: tasks[number, level] for level in LEVELS},
                    "about": check.about,
                    "published": check.published,
                    "note": self.note(number),
                }
                for number, check in CHECKS.items()
            ],
            "findings": [finding.as_dict() for finding in self.findings],
        }

    def status(self, number: int) -> str:
        """failed, not checked, partly checked, or passed: only errors fail."""
        if any(finding.check == number and finding.level == ERROR for finding in self.findings):
            return "failed"
        if number in self.not_checked:
            return "not checked"
        return "partly checked" if self.note(number) else "passed"

    def note(self, number: int) -> str:
        """Why a check was not done, or not of everything; empty if it was."""
        if number in self.not_checked:
            return self.not_checked[number]
        notes = [self.partly[number]] if number in self.partly else []
        if self.broken and number in TEXTS:
            count = counted_as(len(self.broken), "task")
            notes.append(f"not all of {count} without sound keys, types or JSON: {first_ids(self.broken)}")
        return "; ".join(notes)
