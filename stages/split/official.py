"""The published lists of tasks, where the dataset came with them (splits/TRACK/ROLE_tasks.txt)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nightjar.core.contracts import LISTED
from nightjar.core.errors import NightjarError
from stages.split.rule import TRACKS, Role, Task
from stages.split.rule import roles as roles_by_rule

ROLES = ("train", "test", "excluded")


@dataclass(frozen=True)
class Lists:
    """One track's lists: the role a task is listed under, and the roles that have a list at all."""

    role_of: Mapping[str, str]
    roles: frozenset[str]

    def names(self) -> dict[str, int]:
        """How many tasks are listed, by role."""
        listed = list(self.role_of.values())
        return {role: listed.count(role) for role in sorted(self.roles)}

    def absent(self, tasks: Iterable[Task]) -> dict[str, int]:
        """How many listed tasks are not among `tasks`, by role."""
        present = {task.task_id for task in tasks}
        missing = [role for task, role in self.role_of.items() if task not in present]
        return {role: missing.count(role) for role in sorted(self.roles)}


def read_lists(folder: Path) -> dict[str, Lists]:
    """The lists in an artifact's folder `splits`, by track; tracks without any list are left out.

    Raises NightjarError if a track lists a task under two roles, which would let test tasks train.
    """
    found: dict[str, Lists] = {}
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
                    raise NightjarError(what, file, "mend the lists, or set split.official_lists to ignore")
        if roles:
            found[track] = Lists(role_of, frozenset(roles))
    return found


def told(folder: Path, lists: Mapping[str, Lists], used: bool = True) -> str:
    """One line: the lists that were read from `folder` with their numbers of names, or that the rule decides."""
    if not used:
        return "split.official_lists is ignore: the rule alone decides"
    if not lists:
        return f"no published lists in {folder}: the rule alone decides"
    found = []
    for track in TRACKS:
        counts = lists[track].names() if track in lists else {}
        numbers = ", ".join(f"{role} {count}" for role, count in counts.items())
        found.append(f"{track} {numbers} names" if numbers else f"{track} none, so the rule decides")
    return f"published lists in {folder}: {'; '.join(found)}"


def roles(tasks: Iterable[Task], track: str, lists: Lists) -> dict[str, Role]:
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
