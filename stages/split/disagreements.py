"""Disagreements of the published lists and the rule, with reasons (natural-instructions' split_tasks.py).

The rule sees only the tasks at hand. A source shared with a test task that is absent cannot be seen, so such a
reason says no more than how many test tasks are absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stages.split.roles import EVALUATION_CATEGORIES, TRACKS, Lists, Role, TaskTraits, roles_by_rule

NONE = "none"


def disagreements(tasks: Iterable[TaskTraits], lists: Mapping[str, Lists]) -> list[dict[str, str]]:
    """Every task at hand that a track's lists put elsewhere than the rule does.

    A row has track, task_id, listed (train, test, excluded, or `none` for a task that no list of the track
    names), rule (train, test or excluded) and reason. Not being named is a disagreement only where the track has
    a list of the rule's role.
    """
    known_tasks = {task.task_id: task for task in tasks}
    by_rule = {track: roles_by_rule(known_tasks.values(), track) for track in TRACKS}
    # The track of every test task, absent ones too: the listed ones, and the rule's where a track has no test list.
    tests: dict[str, str] = {}
    for track in TRACKS:
        if track in lists and "test" in lists[track].roles:
            role_of = lists[track].role_of
        else:
            role_of = {name: role.role for name, role in by_rule[track].items()}
        tests.update((name, track) for name, role in role_of.items() if role == "test")
    rows = []
    for track in (track for track in TRACKS if track in lists):
        for task_id, role in by_rule[track].items():
            listed = lists[track].role_of.get(task_id, NONE)
            if listed == role.role or (listed == NONE and role.role not in lists[track].roles):
                continue
            place = "on no list of this track" if listed == NONE else f"listed as {listed}"
            reason = f"{place}; {_reason(known_tasks, task_id, track, listed, role, tests)}"
            row = {"track": track, "task_id": task_id, "listed": listed, "rule": role.role, "reason": reason}
            rows.append(row)
    return rows


def _reason(
    known_tasks: Mapping[str, TaskTraits],
    task_id: str,
    track: str,
    listed: str,
    role: Role,
    tests: Mapping[str, str],
) -> str:
    task = known_tasks[task_id]
    if tests.get(task_id, track) != track:
        return (
            f"tests on the track {tests[task_id]}, by its languages {_quoted(task.languages)} on {task.track}"
        )
    if listed == "test" and not task.evaluates:
        count = len(EVALUATION_CATEGORIES)
        return (
            f"none of its categories ({_quoted(task.categories)}) is one of the {count} evaluation categories"
        )
    if role.role != "train":
        return role.reason
    for name in sorted(tests.keys() & known_tasks.keys()):
        if shared := [source for source in task.sources if source in known_tasks[name].sources]:
            return f"shares the source {shared[0]!r} with {name}, which only the lists let test"
    text = "nothing in the data at hand shows why"
    if not (absent := tests.keys() - known_tasks.keys()):
        return f"{text}, and every listed test task is at hand"
    missing = f"{len(absent)} of the {len(tests)} test tasks are absent"
    return f"{text}: {missing}, and may share its source ({_quoted(task.sources)})"


def _quoted(values: tuple[str, ...]) -> str:
    return ", ".join(map(repr, values)) or "none"
