"""The random demonstration."""

from __future__ import annotations

from collections import Counter

from nightjar.benchmarks.question import Question
from nightjar.benchmarks.supernatinst.questions import QUESTION_SET, SuperNatInstSettings, copy_input
from tests.questions import question

NONE = {"definition": [], "positive_examples": [], "negative_examples": []}
TASK = {**NONE, "positive_examples": [{"output": text} for text in "abc"]}


def test_random_demonstration() -> None:
    asked = [question({"task_id": "t", "id": str(number), "input": "x"}, TASK) for number in range(300)]

    def drawn(seed: int, chosen: list[Question]) -> list[str]:
        copy = QUESTION_SET.baselines(SuperNatInstSettings(copy_demo="random"))["copy_demo"]
        return [copy(one, seed) for one in chosen]

    first = drawn(1, asked)
    assert min(Counter(first)[text] for text in "abc") > 70
    assert drawn(1, asked[::2]) == first[::2] and drawn(2, asked) != first
    none = question({"task_id": "t", "id": "0"}, NONE)
    for setting in ("random", "first"):
        assert QUESTION_SET.baselines(SuperNatInstSettings(copy_demo=setting))["copy_demo"](none, 1) == ""  # type: ignore[arg-type]
    assert QUESTION_SET.baselines(SuperNatInstSettings())["copy_demo"](asked[0], 1) == "a"
    assert copy_input(asked[0], 1) == "x"
