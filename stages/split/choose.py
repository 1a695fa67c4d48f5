"""Choosing tasks and instances by a seed; one task's rows never depend on which other tasks there are."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T", bound="tuple[str, ...]")


def _rank(seed: int, *words: str) -> bytes:
    return hashlib.sha256("\0".join((str(seed), *words)).encode("utf-8")).digest()


def choose_tasks(tasks: Iterable[str], limit: int | None, seed: int) -> set[str]:
    """At most `limit` of the tasks; a larger limit keeps what a smaller one chose."""
    ranked = sorted(tasks, key=lambda task: _rank(seed, "task", task))
    return set(ranked[:limit])


def choose_balanced(groups: Mapping[str, T], limit: int | None, seed: int) -> set[str]:
    """At most `limit` of the tasks that `groups` maps to their group, taking one of every group in turn."""
    waiting: dict[tuple[str, ...], list[str]] = {}
    for task in sorted(groups, key=lambda task: _rank(seed, "task", task)):
        waiting.setdefault(groups[task], []).append(task)
    order = sorted(waiting, key=lambda group: _rank(seed, "group", *group))
    depth = max(map(len, waiting.values()), default=0)
    turns = [waiting[group][turn] for turn in range(depth) for group in order if turn < len(waiting[group])]
    return set(turns[:limit])


def choose_dev(sources: Mapping[str, Collection[str]], limit: int, seed: int) -> set[str]:
    """At most `limit` of the tasks that `sources` maps to their sources; a larger limit keeps a smaller one's.

    Tasks that share no source with any other come first, so that what is left to train on tells as little as
    possible about the dev tasks; no task is given up for it.
    """
    users = Counter(source for names in sources.values() for source in set(names))

    def rank(task: str) -> tuple[bool, bytes]:
        return any(users[source] > 1 for source in sources[task]), _rank(seed, "dev", task)

    return set(sorted(sources, key=rank)[:limit])


def choose_published(first_outputs: Sequence[str], limit: int, generator: random.Random) -> list[int]:
    """The published balanced choice of one task's test instances, as row numbers in that order.

    Source: reorder_instances_for_testing.py of natural-instructions.

    Rows are grouped by their first output, groups are in order of first appearance, and each in turn gives one
    row that the generator draws from those it has left, until `limit` are chosen or none is left. `generator` is
    random.Random(123), one for all the tasks: what a task gets depends on the tasks before it.
    """
    groups: dict[str, list[int]] = {}
    for row, output in enumerate(first_outputs):
        groups.setdefault(output, []).append(row)
    chosen: list[int] = []
    while groups and len(chosen) < limit:
        for output in list(groups)[: limit - len(chosen)]:
            row = generator.choice(groups[output])
            groups[output].remove(row)
            chosen.append(row)
        groups = {output: rows for output, rows in groups.items() if rows}
    return chosen


def choose_rows(count: int, limit: int | None, seed: int, task_id: str) -> list[int]:
    """At most `limit` of the numbers 0 to count-1, ascending; a larger limit keeps a smaller one's."""
    rows = list(range(count))
    if limit is None or limit >= count:
        return rows
    random.Random(f"{seed}/{task_id}").shuffle(rows)
    return sorted(rows[:limit])
