"""Ranked lists from passages: the extracted answers are ranked whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.benchmarks import registry
from nightjar.benchmarks.question import Question
from nightjar.models.load import load
from nightjar.params import load as load_params
from nightjar.predict import extracted

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("required", [False, True])
def test_an_answer_is_not_cut_at_a_full_stop_in_it(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch, required: bool
) -> None:
    card = registry.card("protoqa")
    written = ["dr. pepper", "st. louis.", "dr. pepper", "", "water", "the"]
    monkeypatch.setattr(extracted, "lines", lambda lm, head, prompts, most: written)
    asked = Question("protoqa", "dev", "q1", {"question": "name a drink", "clusters": []}, ())
    reading = extracted.Reading(asked, ["p"] * len(written), [3.0, 2.0, 1.0, 9.0, 1.0, 9.0])
    settings = load_params(ROOT / "profiles/sample.yaml").predict.benchmark("protoqa")
    settings = settings.model_copy(update={"require_full_stop": required})
    (row,) = extracted.extracted(load(tiny_model), card, [reading], settings)
    assert row["answers"] == ["dr. pepper", "st. louis", "water"]
