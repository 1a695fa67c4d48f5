"""The two heuristic baselines (Tk-Instruct's run_heuristics.py). Neither adds a full stop to what it copies."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal

from nightjar.benchmarks.card import Baseline
from nightjar.benchmarks.question import Question
from nightjar.core.config import Model


class Settings(Model):
    """`copy_demo`: which positive example that baseline copies, the first as in the published code or a random one as
    in the paper's text.
    """

    copy_demo: Literal["first", "random"] = "first"


def copy_input(question: Question, seed: int) -> str:
    """The whole instance input, unchanged."""
    text: str = question.parts["input"]
    return text


def copy_demo(question: Question, seed: int) -> str:
    """The output of the task's first positive example, as in the published code; empty if it has none."""
    examples = question.shared["positive_examples"]
    text: str = examples[0]["output"] if examples else ""
    return text


def copy_random_demo(question: Question, seed: int) -> str:
    """The output of a positive example drawn for each instance, as the paper's text has it.

    The draw depends on the seed, the task and the instance alone, so that no other instance changes it.
    """
    examples = question.shared["positive_examples"]
    if not examples:
        return ""
    source = random.Random(f"{seed}\x1f{question.task_id}\x1f{question.id}")
    text: str = source.choice(examples)["output"]
    return text


def baselines(settings: Any) -> Mapping[str, Baseline]:
    """The baselines by name, under the card's settings."""
    demo = copy_demo if settings.copy_demo == "first" else copy_random_demo
    return {"copy_input": copy_input, "copy_demo": demo}
