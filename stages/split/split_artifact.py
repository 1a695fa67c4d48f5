"""Writes the split: every task's role on both tracks, and the training, dev, test and supervised instances."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nightjar.core import tables
from nightjar.core.config import PARAMS_FILE
from nightjar.core.contracts import SPLIT_TASKS, TASKS
from nightjar.core.errors import NightjarError
from nightjar.params.inputs import Split
from stages.split.choose import choose_balanced, choose_dev, choose_tasks
from stages.split.disagreements import disagreements
from stages.split.roles import (
    ROLES,
    TRACKS,
    Lists,
    Role,
    describe_lists,
    read_lists,
    roles_by_lists,
    roles_by_rule,
    task_of,
)
from stages.split.side_instances import SideWriter, TaskSides, Written, disjoint

log = logging.getLogger("nightjar")


@dataclass
class SplitOutcome(Written):
    """Rows that were written, and the facts beside the counts."""

    details: dict[str, Any] = field(default_factory=dict)


def build(ingested: Path, output: Path, settings: Split, seed: int) -> SplitOutcome:
    """Write the artifact `output` from the ingested task files.

    Training and dev tasks are those of the track `settings.track`; the test tasks of both tracks are kept. Raises
    NightjarError if a track's lists contradict each other or let a test task of either track train, if the dev
    tasks leave none to train on, or if an instance would be on two sides.
    """
    tasks = {row["task_id"]: task_of(row) for row in tables.read_rows(ingested, TASKS)}
    use = settings.official_lists == "use"
    lists = read_lists(ingested / "splits") if use else {}
    log.info("%s", describe_lists(ingested / "splits", lists, use))
    roles: dict[str, dict[str, Role]] = {}
    for track in TRACKS:
        published = lists.get(track)
        known_tasks = tasks.values()
        roles[track] = (
            roles_by_lists(known_tasks, track, published) if published else roles_by_rule(known_tasks, track)
        )
    testing = {task: track for track in TRACKS for task in _with_role(roles[track], "test")}
    groups = {task: (track, tasks[task].category) for task, track in testing.items()}
    training = _with_role(roles[settings.track], "train")
    disjoint(training & testing.keys(), "task", "training and test", output)
    dev = choose_dev({task: tasks[task].sources for task in training}, settings.dev_tasks, seed)
    if dev and dev == training:
        what = f"split.dev_tasks = {settings.dev_tasks} leaves no task to train on: there are {len(training)}"
        raise NightjarError(what, PARAMS_FILE, "set it lower, or to 0 for no dev split")
    train = choose_tasks(training - dev, settings.train_tasks, seed)
    test = choose_balanced(groups, settings.test_tasks, seed)
    sides = TaskSides(train, dev, test, testing, {task: tasks[task].category for task in testing})
    order = list(_published_order(testing, lists))
    with tables.ArtifactWriter(output) as writer:
        writer.write(SPLIT_TASKS, _rows(roles, settings.track, dev))
        side_writer = SideWriter(ingested, writer, settings, seed)
        written = side_writer.write(sides, order)
        for task_id, count in side_writer.counts.items():
            if task_id not in train and task_id not in dev and task_id not in test:
                listed = task_id in testing or task_id in training
                written.not_used["task not chosen" if listed else "task excluded"] += count
    details = {
        # How many have each role, and what the published lists name in vain.
        "tasks": {
            track: {role: len(_with_role(task_roles, role)) for role in ROLES}
            for track, task_roles in roles.items()
        },
        "lists": {
            track: {"listed_but_absent": track_lists.absent(tasks.values())}
            for track, track_lists in lists.items()
        },
        "disagreements": disagreements(tasks.values(), lists),
        "dev": {"tasks": sorted(dev)},
    }
    return SplitOutcome(written.rows_in, written.rows, written.not_used, details)


def _with_role(roles: Mapping[str, Role], role: str) -> set[str]:
    return {task for task, task_role in roles.items() if task_role.role == role}


def _rows(roles: Mapping[str, Mapping[str, Role]], trained: str, dev: set[str]) -> list[dict[str, str]]:
    rows = []
    for track in TRACKS:
        for task, role in sorted(roles[track].items()):
            held = "; held out for the dev split" if track == trained and task in dev else ""
            rows.append(
                {"track": track, "task_id": task, "role": role.role, "reason": f"{role.reason}{held}"}
            )
    return rows


def _published_order(testing: Mapping[str, str], lists: Mapping[str, Lists]) -> Iterable[str]:
    """The test tasks, default before xlingual, as they are in the lists; those on none after them, by name."""
    for track in TRACKS:
        track_tasks = {task for task, task_track in testing.items() if task_track == track}
        listed = [task for task in lists[track].role_of if task in track_tasks] if track in lists else []
        yield from listed
        yield from sorted(track_tasks.difference(listed))
