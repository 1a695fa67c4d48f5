"""The documents beside the task files of the public repository, and the contributors' checks that read them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nightjar.benchmarks.supernatinst.checked_task import ERROR, Flaw, Hierarchy, grouped
from nightjar.benchmarks.supernatinst.documents import ROLES, TRACKS, read_document

_QUOTED = re.compile(r"`(.*?)`")
# Lines of the list no longer than that are not compared: blank ones and rules repeat.
_SHORT = 4
# A flaw with the task that it is about; None for the documents.
TaskFlaw = tuple[str | None, Flaw]


@dataclass(frozen=True)
class Documents:
    """The documents of a dataset's folder that are there; None or empty for those that are not.

    `task_list` is the text of tasks/README.md. `splits` has the lists of each track by role, as they are written.
    """

    hierarchy: Hierarchy | None = None
    task_list: str | None = None
    splits: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)

    def not_checked(self) -> dict[int, str]:
        """Reasons for which checks cannot be done at all, by their numbers."""
        reasons = {} if self.hierarchy else {12: "doc/task-hierarchy.md is missing"}
        return reasons if self.splits else reasons | {15: "no folder splits/"}

    def partly_checked(self) -> dict[int, str]:
        """Notes about checks that can be done in part alone, by their numbers: what is missing."""
        unlisted = self.task_list is None
        reasons = {14: "tasks/README.md is missing: only the letters of the names"} if unlisted else {}
        files = [
            f"{track}/{role}_tasks.txt"
            for track in TRACKS
            for role in ROLES
            if role not in self.splits.get(track, {})
        ]
        notes = []
        if missing := ", ".join(f"splits/{file}" for file in files):
            notes.append(f"missing: {missing}; tasks on no list are reported only where all three are")
        if unlisted:
            notes.append("tasks/README.md is missing: listed tasks without a file are not reported")
        return reasons | ({15: "; ".join(notes)} if self.splits and notes else {})


def read_documents(root: Path, tasks: Path) -> Documents:
    """The documents of the folder `root`, whose task files lie in `tasks`.

    Raises NightjarError for one that is not UTF-8, or no ordinary file.
    """
    hierarchy, readme = read_document(root / "doc" / "task-hierarchy.md"), read_document(tasks / "README.md")
    splits: dict[str, dict[str, tuple[str, ...]]] = {}
    for track in TRACKS:
        for role in ROLES:
            text = read_document(root / "splits" / track / f"{role}_tasks.txt")
            if text is not None:
                splits.setdefault(track, {})[role] = tuple(filter(None, map(str.strip, text.splitlines())))
    return Documents(
        None if hierarchy is None else Hierarchy(hierarchy, frozenset(_QUOTED.findall(hierarchy))),
        readme,
        splits,
    )


def _listed_names(text: str) -> list[str]:
    """The tasks that a README names: a line a task, its name between the first two backticks."""
    return [line.split("`")[1] for line in text.split("\n") if len(line) > _SHORT and "`" in line]


def check_task_list(documents: Documents, task_ids: Sequence[str]) -> Iterator[TaskFlaw]:
    """Compare the names of the files with the list of tasks."""
    text = documents.task_list
    for name in task_ids:
        if any(letter.isupper() for letter in name):
            yield name, Flaw(ERROR, "a capital letter in the name")
        if text is not None and f"{name}.json" in text:
            yield name, Flaw(ERROR, "tasks/README.md names it with its ending .json")
        times = 1 if text is None else text.count(name)
        if times == 0:
            yield name, Flaw(ERROR, "not in tasks/README.md")
        elif times > 1:
            message = f"{times} times in tasks/README.md, or part of another name there"
            yield name, Flaw(ERROR, message)
    if text is None:
        return
    lines = [line for line in text.split("\n") if len(line) > _SHORT]
    repeated = [line for place, line in enumerate(lines) if line in lines[:place]]
    yield None, Flaw(ERROR, "duplicate lines in tasks/README.md", repeated)
    files, names = set(task_ids), _listed_names(text)
    absent = [name for name in names if name not in files]
    yield None, Flaw(ERROR, "in tasks/README.md, but there is no such file", absent)
    numbered = [(int(number[1]), name) for name in names if (number := re.match(r"task(\d+)", name))]
    swapped = [
        f"{before} before {after}"
        for (first, before), (second, after) in itertools.pairwise(numbered)
        if first > second
    ]
    yield None, Flaw(ERROR, "tasks/README.md is not in the order of numbers", swapped)


def check_splits(documents: Documents, task_ids: Sequence[str]) -> Iterator[TaskFlaw]:
    """Compare the published lists with the list of tasks, as published, or the files where there is none."""
    text = documents.task_list
    expected_tasks = dict.fromkeys(task_ids if text is None else _listed_names(text))
    for track, lists in documents.splits.items():
        task_roles = grouped((name, role) for role in ROLES for name in dict.fromkeys(lists.get(role, ())))
        repeated = [f"{name} ({', '.join(roles)})" for name, roles in task_roles.items() if len(roles) > 1]
        yield None, Flaw(ERROR, f"{track}: on more than one list", repeated)
        if len(lists) == len(ROLES):
            missing = [name for name in expected_tasks if name not in task_roles]
            yield None, Flaw(ERROR, f"{track}: on no list", missing)
        if text is not None:
            unknown = sorted(task_roles.keys() - expected_tasks.keys())
            yield None, Flaw(ERROR, f"{track}: on a list, but not in tasks/README.md", unknown)
