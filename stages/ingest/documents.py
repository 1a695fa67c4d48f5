"""Documents beside the task files of the public repository: the hierarchy, the list of tasks, the splits."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nightjar.core.errors import NightjarError
from nightjar.core.files import check_input

TRACKS = ("default", "xlingual")
ROLES = ("train", "test", "excluded")
_QUOTED = re.compile(r"`(.*?)`")
# Lines of the list no longer than that are not compared: blank ones and rules repeat.
_SHORT = 4


@dataclass(frozen=True)
class Hierarchy:
    """doc/task-hierarchy.md: its text, and what it has between backticks."""

    text: str
    names: frozenset[str]


@dataclass(frozen=True)
class TaskList:
    """tasks/README.md: its text, the tasks it names in order, and the lines that occur in it twice."""

    text: str
    names: tuple[str, ...]
    repeated: tuple[str, ...]


@dataclass(frozen=True)
class Documents:
    """The documents of a dataset's folder that are there; None or empty for those that are not.

    `splits` has the lists of each track by role, as they are written.
    """

    hierarchy: Hierarchy | None = None
    task_list: TaskList | None = None
    splits: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)


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
        None if readme is None else task_list(readme),
        splits,
    )


def task_list(text: str) -> TaskList:
    """The list of tasks in a README: a line a task, its name between the first two backticks."""
    lines = [line for line in text.split("\n") if len(line) > _SHORT]
    names = tuple(line.split("`")[1] for line in lines if "`" in line)
    known_lines: set[str] = set()
    repeated = tuple(line for line in lines if line in known_lines or known_lines.add(line))  # type: ignore[func-returns-value]
    return TaskList(text, names, repeated)


def out_of_order(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Neighbours in the list of which the first has the larger number."""
    numbered = [(int(number[1]), name) for name in names if (number := re.match(r"task(\d+)", name))]
    for (first, before), (second, after) in itertools.pairwise(numbered):
        if first > second:
            yield before, after


def read_document(file: Path) -> str | None:
    """The text of a file, None if it is missing. Raises NightjarError for one that is not UTF-8 or no ordinary file."""
    check_input(file)
    if not file.exists():
        return None
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise NightjarError(f"not UTF-8 at byte {error.start}", file, "save it as UTF-8") from None
