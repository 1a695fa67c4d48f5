"""The two heuristic baselines (facts 1.10). Neither adds a full stop to what it copies."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

Row = Mapping[str, Any]
Copy = Callable[[Row, Row], str]


def copy_input(instance: Row, task: Row) -> str:
    """The whole instance input, unchanged."""
    text: str = instance["input"]
    return text


def copy_demo(instance: Row, task: Row) -> str:
    """The output of the task's first positive example, as the published code; empty if it has none."""
    examples = task["positive_examples"]
    text: str = examples[0]["output"] if examples else ""
    return text


def copy_random_demo(seed: int) -> Copy:
    """The output of a positive example drawn for each instance, as the paper's text has it.

    The draw hangs on the seed, the task and the instance alone, so that no other instance changes it.
    """

    def copy(instance: Row, task: Row) -> str:
        examples = task["positive_examples"]
        if not examples:
            return ""
        source = random.Random(f"{seed}\x1f{instance['task_id']}\x1f{instance['id']}")
        text: str = source.choice(examples)["output"]
        return text

    return copy


def baselines(copy: str, seed: int) -> dict[str, Copy]:
    """The baselines by name; `copy` says which example copy_demo copies, first or random."""
    return {"copy_input": copy_input, "copy_demo": copy_demo if copy == "first" else copy_random_demo(seed)}


NAMES = ("copy_input", "copy_demo")
