"""Inputs that are on two sides of the split: leakage inside the data, which the rule on sources cannot see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa


def stripped(rows: pa.Table) -> list[str]:
    """The inputs of `rows` without white space at their ends: what two inputs are compared by."""
    return [text.strip() for text in rows["input"].to_pylist()]


class Inputs:
    """The inputs of one side, against which the instances of the others are held, task by task.

    Holds this side's texts, so it is meant for the small sides (test: at most 100 instances a task).
    """

    def __init__(self) -> None:
        self._here: Counter[str] = Counter()
        self._met: dict[str, set[str]] = {}
        self._found: dict[str, Counter[str]] = {}

    def add(self, rows: pa.Table) -> None:
        self._here.update(stripped(rows))

    def __contains__(self, text: object) -> bool:
        return text in self._here

    def compare(self, side: str, task_id: str, texts: Iterable[str]) -> None:
        """Count those of a task's stripped inputs that are on this side too."""
        met = self._met.setdefault(side, set())
        found = self._found.setdefault(side, Counter())
        for text in texts:
            if text in self._here:
                met.add(text)
                found[task_id] += 1

    def facts(self, name: str) -> dict[str, dict[str, Any]]:
        """For every other side, as `SIDE_in_NAME`: how many of its instances are here, those of each of its
        tasks, and how many instances here they equal.
        """
        return {
            f"{side}_in_{name}": {
                "instances": found.total(),
                "equal_to": sum(self._here[text] for text in self._met[side]),
                "tasks": dict(sorted(found.items())),
            }
            for side, found in sorted(self._found.items())
        }
