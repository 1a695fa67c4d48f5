"""Where the published lists and the rule part, and why (natural-instructions' split_tasks.py).

The rule sees only the tasks at hand. A source shared with a test task that is absent cannot be seen, so such a
reason says no more than which absent task the names point to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from stages.split.roles import EVALUATION_CATEGORIES, TRACKS, Lists, Role, Task, roles_by_rule

NONE = "none"
_TWELVE = f"{len(EVALUATION_CATEGORIES)} evaluation categories"
# Names that share fewer letters at their beginning may be unrelated.
_COMMON_LETTERS = 4


def disagreements(tasks: Iterable[Task], lists: Mapping[str, Lists]) -> list[dict[str, str]]:
    """Every task at hand that a track's lists put elsewhere than the rule does.

    A row has track, task_id, listed (train, test, excluded, or `none` for a task that no list of the track
    names), rule (train, test or excluded) and reason. Not being named is a disagreement only where the track has
    a list of the rule's role.
    """
    known = {task.task_id: task for task in tasks}
    found = []
    for track in TRACKS:
        if track not in lists:
            continue
        explain = _Explain(known, lists, track)
        for task_id, role in roles_by_rule(known.values(), track).items():
            listed = lists[track].role_of.get(task_id, NONE)
            if listed == role.role or (listed == NONE and role.role not in lists[track].roles):
                continue
            reason = explain.reason(known[task_id], listed, role)
            found.append(
                {"track": track, "task_id": task_id, "listed": listed, "rule": role.role, "reason": reason}
            )
    return found


class _Explain:
    """What the reasons of one track are made of.

    `tests` has the track of every test task, absent ones too: the listed ones, and the rule's where a track has
    no test list. `source_of` has a test task at hand for every source of one.
    """

    def __init__(self, tasks: Mapping[str, Task], lists: Mapping[str, Lists], track: str) -> None:
        self.track = track
        self.tests: dict[str, str] = {}
        for other in TRACKS:
            if other in lists and "test" in lists[other].roles:
                role_of = lists[other].role_of
            else:
                role_of = {name: role.role for name, role in roles_by_rule(tasks.values(), other).items()}
            self.tests.update((name, other) for name, role in role_of.items() if role == "test")
        self.absent = sorted(self.tests.keys() - tasks.keys())
        self.names = sorted(lists[track].role_of.keys() - tasks.keys())
        self.source_of: dict[str, str] = {}
        for name in sorted(self.tests.keys() & tasks.keys()):
            for source in tasks[name].sources:
                self.source_of.setdefault(source, name)

    def reason(self, task: Task, listed: str, role: Role) -> str:
        if role.role == "test":
            text = self._tests(task, role)
        elif listed == "test":
            text = self._listed_test(task, role)
        elif role.role == "excluded":
            text = self._excluded(task, listed, role)
        else:
            text = self._trains(task)
        place = "on no list of this track" if listed == NONE else f"listed as {listed}"
        return f"{place}; {text}{self._renamed(task, listed)}"

    def _renamed(self, task: Task, listed: str) -> str:
        """A list may have a task under another name: the number is what stays."""
        number = task.task_id.partition("_")[0]
        others = [name for name in self.names if name.partition("_")[0] == number]
        return f"; of the same number, {others[0]} is listed" if listed == NONE and others else ""

    def _tests(self, task: Task, role: Role) -> str:
        other = self.tests.get(task.task_id, self.track)
        if other != self.track:
            return f"tests on the track {other} instead, though its languages are {_some(task.languages)}"
        return f"it has the {role.reason}"

    def _listed_test(self, task: Task, role: Role) -> str:
        if not task.evaluates:
            return f"none of its categories ({_some(task.categories)}) is one of the {_TWELVE}"
        if role.reason.startswith("test task"):
            return f"by its languages ({_some(task.languages)}) it is a {role.reason}"
        return role.reason

    def _excluded(self, task: Task, listed: str, role: Role) -> str:
        if role.reason == "not English":
            return f"not English: its languages are {_some(task.languages)}"
        if listed == "train" and role.reason.startswith("shares"):
            leaks = next((source for source in task.sources if source in self.source_of), None)
            if leaks is None:
                return f"{role.reason}, which is on no test list"
            return f"shares the source {leaks!r} with {self.source_of[leaks]}, which tests: it leaks"
        return role.reason

    def _trains(self, task: Task) -> str:
        if task.task_id in self.tests:
            kind = f"none of its categories ({_some(task.categories)}) is one of the {_TWELVE}"
            return f"tests on the track {self.tests[task.task_id]}, though {kind}"
        for source in task.sources:
            if source in self.source_of:
                return f"shares the source {source!r} with {self.source_of[source]}, which only the lists let test"
        text = "nothing in the data at hand shows why"
        if not self.absent:
            return f"{text}, and every listed test task is at hand"
        text += (
            f": {len(self.absent)} of the {len(self.tests)} test tasks are absent, and may share its source "
        )
        text += f"({_some(task.sources)})"
        word = task.task_id.partition("_")[2].partition("_")[0]
        similar = [name for name in self.absent if _similar(task, name)]
        similar.sort(key=lambda name: not name.partition("_")[2].startswith(f"{word}_"))
        return f"{text}; by its name, {similar[0]} may be one" if similar else text


def _some(values: tuple[str, ...]) -> str:
    return ", ".join(map(repr, values)) or "none"


def _similar(task: Task, name: str) -> bool:
    """Whether another task's name begins with a source of `task`, as its own name writes it or as Source does."""
    sources = [_plain(source) for source in task.sources]
    own = _plain(task.task_id.partition("_")[2].partition("_")[0])
    if any(own[:_COMMON_LETTERS] == source[:_COMMON_LETTERS] for source in sources):
        sources.append(own)
    words = _plain(name.partition("_")[2])
    return any(len(source) >= _COMMON_LETTERS and words.startswith(source) for source in sources)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
