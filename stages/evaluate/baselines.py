"""The two heuristic baselines (facts 1.10). Neither adds a full stop to what it copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def copy_input(instance: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    """The whole instance input, unchanged."""
    text: str = instance["input"]
    return text


def copy_demo(instance: Mapping[str, Any], task: Mapping[str, Any]) -> str:
    """The output of the task's first positive example; empty if it has none."""
    examples = task["positive_examples"]
    text: str = examples[0]["output"] if examples else ""
    return text


BASELINES = {"copy_input": copy_input, "copy_demo": copy_demo}
