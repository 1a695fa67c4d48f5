"""Choosing tasks and instances by a seed; one task's rows never depend on which other tasks there are."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping
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


def choose_rows(count: int, limit: int | None, seed: int, task_id: str) -> list[int]:
    """At most `limit` of the numbers 0 to count-1, ascending; a larger limit keeps a smaller one's."""
    rows = list(range(count))
    if limit is None or limit >= count:
        return rows
    random.Random(f"{seed}/{task_id}").shuffle(rows)
    return sorted(rows[:limit])
