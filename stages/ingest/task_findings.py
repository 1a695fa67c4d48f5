"""The contributors' fifteen checks of a task (src/test_all.py of natural-instructions) and what they found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

# error: the published check fails. warning: it warns. allowed: it lets pass what its message, or good sense,
# would not; the finding says so.
LEVELS = ("error", "warning", "allowed")


@dataclass(frozen=True)
class Check:
    """One check: its number (see `checks`), what must hold, and where the published code differs from its word."""

    number: int
    name: str
    about: str
    published: str = ""


CHECKS = (
    Check(
        1,
        "keys",
        "every key is there, and no language key in its old lower-case spelling; Instruction_language is one of "
        "them: the published script reads it unguarded, so that a file without it fails",
    ),
    Check(
        2,
        "instance_count",
        "more than 25 and at most 6,500 instances",
        "exactly 25 fail, though the message says at least 25",
    ),
    Check(
        3,
        "types",
        "lists and strings where they belong; every instance has an id of its own, an input and an output",
        "blank texts pass, and so do empty strings among the outputs, ids that are not strings, and entries of "
        "Source, URL and Contributors that are not",
    ),
    Check(
        4,
        "example_count",
        "more than 1 positive and more than 0 negative examples",
        "the messages ask for 3 and 2",
    ),
    Check(5, "examples", "every example has an input, an output and an explanation, all strings"),
    Check(6, "repeated_inputs", "no two instances have the same input"),
    Check(7, "links", "no input holds a link", "a warning only"),
    Check(8, "single_output", "more than one distinct output", "tasks 902 and 903 are exempt"),
    Check(
        9,
        "skewed_outputs",
        "of fewer than 15 distinct outputs, the normalised entropy is above 0.8",
        "task 150 is exempt",
    ),
    Check(10, "leaked_examples", "no instance has the input of a positive example"),
    Check(
        11,
        "languages",
        "ISO 639 names; every definition names the input languages but English",
        "output languages need not be named",
    ),
    Check(
        12,
        "hierarchy",
        "every category, domain and reasoning stands in doc/task-hierarchy.md",
        "a domain or reasoning may stand there inside a longer text",
    ),
    Check(
        13,
        "json",
        "the file is JSON and has no duplicate key",
        "duplicate keys and NaN pass, as a second parse that would see them runs only when the first fails; a byte "
        "order mark fails",
    ),
    Check(14, "task_list", "named once in tasks/README.md, in the order of numbers; a name in lower case"),
    Check(15, "splits", "each task is in exactly one list of each track: train, test or excluded"),
)


# Keys, types and JSON; without them the checks of texts and numbers cannot look at all of a task.
BASIC, TEXTS = frozenset({1, 3, 13}), frozenset({2, *range(4, 13)})


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
            "name": CHECKS[self.check - 1].name,
            "level": self.level,
            "message": self.message,
            "ids": list(self.ids),
        }


class TaskFindings:
    """Collects the findings of one task."""

    def __init__(self, task_id: str | None = None) -> None:
        self.task_id = task_id
        self.findings: list[TaskFinding] = []

    def error(self, check: int, message: str, ids: Iterable[str] = ()) -> None:
        self._add(check, "error", message, ids)

    def warning(self, check: int, message: str, ids: Iterable[str] = ()) -> None:
        self._add(check, "warning", message, ids)

    def allowed(self, check: int, message: str, ids: Iterable[str] = ()) -> None:
        """Something the published check lets pass; the message says by which laxity."""
        self._add(check, "allowed", message, ids)

    def unreadable(self, error: Exception) -> None:
        """Check 13 fails, and of the file nothing else could be looked at."""
        self.error(13, f"{error} (ingest refuses the file)")

    def _add(self, check: int, level: str, message: str, ids: Iterable[str]) -> None:
        self.findings.append(TaskFinding(check, level, message, self.task_id, tuple(ids)))


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
                    "check": check.number,
                    "name": check.name,
                    "status": self.status(check.number),
                    **{level: tasks[check.number, level] for level in LEVELS},
                    "about": check.about,
                    "published": check.published,
                    "note": self.note(check.number),
                }
                for check in CHECKS
            ],
            "findings": [finding.as_dict() for finding in self.findings],
        }

    def status(self, number: int) -> str:
        """failed, not checked, partly checked, or passed: only errors fail."""
        if any(finding.check == number and finding.level == "error" for finding in self.findings):
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
            count = f"{len(self.broken):,} task{'' if len(self.broken) == 1 else 's'}"
            notes.append(f"not all of {count} without sound keys, types or JSON: {names(self.broken)}")
        return "; ".join(notes)


def names(ids: Sequence[str], limit: int = 3) -> str:
    """The first few ids in one line, and how many more there are."""
    first_ids = ", ".join(" ".join(name.split()) or repr(name) for name in ids[:limit])
    return f"{first_ids}, and {len(ids) - limit:,} more" if len(ids) > limit else first_ids
