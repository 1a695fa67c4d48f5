"""Prompts against the published transformation."""

from __future__ import annotations

import json
from pathlib import Path

from nightjar.benchmarks.protoqa.questions import statement


def test_golden_prompts(golden: Path) -> None:
    cases = json.loads((golden / "protoqa_question_transform.json").read_text("utf-8"))["cases"]
    assert {it["question"]: statement(it["question"]) for it in cases} == {
        it["question"]: it["prompt"] for it in cases
    }


def test_rules() -> None:
    assert statement("Name something you eat.") == "one thing you eat is"
    assert statement("Which season is best") == "one season is best is"
    assert statement("How many?") == "Q: how many? A: "
