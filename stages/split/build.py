"""Writes the split: every task's role on both tracks, the training instances, the test instances.

The test instances of a task are among the first 100 of its file, which the publishers chose (facts 1.4).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stages import tables
from stages.contracts import INSTANCES, SPLIT_TASKS, TASKS, TEST, TRAIN
from stages.errors import NightjarError
from stages.params import Split
from stages.split import official, rule
from stages.split.choose import choose_balanced, choose_rows, choose_tasks
from stages.split.rule import TRACKS, Role, Task

PUBLISHED_TEST_INSTANCES = 100


@dataclass
class Outcome:
    """Rows of the split, and why the other instances are not used: rows_in = train + test + sum(not_used)."""

    rows_in: int = 0
    train: int = 0
    test: int = 0
    not_used: Counter[str] = field(default_factory=Counter)
    details: dict[str, Any] = field(default_factory=dict)


def build(ingested: Path, output: Path, settings: Split, seed: int) -> Outcome:
    """Write the artifact `output` from the ingested task files.

    Raises NightjarError if a track's lists contradict each other, or if training and test instances overlap.
    """
    tasks = {row["task_id"]: rule.task_of(row) for row in tables.read_rows(ingested, TASKS)}
    lists = official.read_lists(ingested / "splits") if settings.official_lists == "use" else {}
    roles: dict[str, dict[str, Role]] = {}
    for track in TRACKS:
        given = lists.get(track)
        known = tasks.values()
        roles[track] = official.roles(known, track, given) if given else rule.roles(known, track)
    train = choose_tasks(_with_role(roles["default"], "train"), settings.train_tasks, seed)
    testing = {task: track for track in TRACKS for task in _with_role(roles[track], "test")}
    groups = {task: (track, tasks[task].category) for task, track in testing.items()}
    test = choose_balanced(groups, settings.test_tasks, seed)
    _disjoint(_with_role(roles["default"], "train") & testing.keys(), "task", output)
    outcome = Outcome(details=_details(tasks, roles, lists))
    with tables.ArtifactWriter(output) as writer:
        writer.write(SPLIT_TASKS, _rows(roles))
        _write_instances(
            ingested, writer, outcome, tasks, roles["default"], testing, train, test, settings, seed
        )
    return outcome


def _with_role(roles: dict[str, Role], role: str) -> set[str]:
    return {task for task, given in roles.items() if given.role == role}


def _rows(roles: dict[str, dict[str, Role]]) -> list[dict[str, str]]:
    return [
        {"track": track, "task_id": task, "role": role.role, "reason": role.reason}
        for track in TRACKS
        for task, role in sorted(roles[track].items())
    ]


def _write_instances(
    ingested: Path,
    writer: tables.ArtifactWriter,
    outcome: Outcome,
    tasks: dict[str, Task],
    roles: dict[str, Role],
    testing: dict[str, str],
    train: set[str],
    test: set[str],
    settings: Split,
    seed: int,
) -> None:
    counts = tables.part_rows(ingested, INSTANCES)
    outcome.rows_in = sum(counts.values())
    test_ids: list[pa.ChunkedArray] = []
    # The test side first: the training side is checked against its ids.
    for task_id in sorted(test):
        rows = tables.read_part(ingested, INSTANCES, task_id)
        rows = rows.filter(pc.less(rows["index"], PUBLISHED_TEST_INSTANCES))
        rows = rows.slice(0, settings.test_instances_per_task)
        for name, value in (("category", tasks[task_id].category), ("track", testing[task_id])):
            rows = rows.add_column(0, name, pa.repeat(pa.scalar(value), len(rows)))
        outcome.test += writer.write(TEST, rows.select(TEST.schema.names), part=task_id)
        test_ids.append(rows["id"])
        outcome.not_used["beyond the limit of test instances"] += counts[task_id] - len(rows)
    held_out = pa.chunked_array(
        [chunk for ids in test_ids for chunk in ids.chunks], pa.string()
    ).combine_chunks()
    for task_id in sorted(train):
        chosen = choose_rows(counts[task_id], settings.train_instances_per_task, seed, task_id)
        rows = tables.read_part(ingested, INSTANCES, task_id).take(chosen)
        _disjoint(set(rows["id"].filter(pc.is_in(rows["id"], held_out)).to_pylist()), "instance", task_id)
        outcome.train += writer.write(TRAIN, rows, part=task_id)
        outcome.not_used["beyond the limit of training instances"] += counts[task_id] - len(chosen)
    for task_id, count in counts.items():
        if task_id not in train and task_id not in test:
            listed = task_id in testing or roles[task_id].role == "train"
            outcome.not_used["task not chosen" if listed else "task excluded"] += count
    _never_empty(writer, outcome)


def _never_empty(writer: tables.ArtifactWriter, outcome: Outcome) -> None:
    """A table without rows is still a table: data of test tasks alone can be split and scored."""
    for contract, rows in ((TRAIN, outcome.train), (TEST, outcome.test)):
        if not rows:
            writer.write(contract, [])


def _disjoint(common: set[str], what: str, where: object) -> None:
    if common:
        fix = "make ids unique across tasks (without ids, ingest makes them), or mend the lists"
        raise NightjarError(f"the {what} {min(common)!r} is on both sides, training and test", where, fix)


def _details(
    tasks: dict[str, Task], roles: dict[str, dict[str, Role]], lists: dict[str, official.Lists]
) -> dict[str, Any]:
    """Tasks of each role and track, those of each category, and what the published lists name in vain."""
    by_category = {
        track: {
            role: dict(sorted(Counter(tasks[task].category for task in _with_role(given, role)).items()))
            for role in ("train", "test")
        }
        for track, given in roles.items()
    }
    return {
        "tasks": {
            track: {role: len(_with_role(given, role)) for role in official.ROLES}
            for track, given in roles.items()
        },
        "tasks_by_category": by_category,
        "lists": {
            track: {"listed_but_absent": given.absent(tasks.values())} for track, given in lists.items()
        },
    }
