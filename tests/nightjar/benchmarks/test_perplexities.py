"""Perplexities that count the first token of a text, and those that do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nightjar.benchmarks.question import Question
from nightjar.benchmarks.score import compare_files
from nightjar.core import paths
from nightjar.core.errors import NightjarError
from tests.questions import write_questions


def _predictions(system: str, counts: bool | None) -> Path:
    facts = {} if counts is None else {"perplexity": {"first_token_counts": counts}}
    file = paths.metrics_file(f"predict@tool_use-{system}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"stage": "predict", **facts}))
    folder = paths.PREDICTIONS / "tool_use" / system
    folder.mkdir(parents=True)
    return folder


def test_perplexities_that_are_counted_in_two_ways_are_not_compared(workdir: Path) -> None:
    row = Question("tool_use", "held_out", "1", {"text": "a"}, (), "held_out", "held_out", shared={})
    write_questions(paths.QUESTIONS / "tool_use", [row])
    a, b = _predictions("weights", True), _predictions("served", False)
    with pytest.raises(NightjarError, match="perplexities of one count the first token of a text"):
        compare_files("tool_use", a, b, paths.QUESTIONS / "tool_use")
