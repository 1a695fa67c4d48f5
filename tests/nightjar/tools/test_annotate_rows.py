"""The rows of candidates, as they were written by the code before this one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.text_trees import SampledText, SampleStart, TextTrees
from nightjar.tools import Losses, Text, make
from nightjar.tools.annotate import Annotator
from stages.augment.annotated_texts import AnnotatedText, row
from tests import plain_annotation as plain

TEXT = Text("A box holds 12 pens, so 8 boxes hold 96 pens.")
TARGET = Text("There are 96 pens.", "Input: 8 boxes of 12 pens.\nOutput:")
DIGEST = "161f87b97e5afcf625060041a3b55425097011c68b104f143e1ef1132a68f79c"


def test_the_rows_are_the_published_ones(lm: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """With samples and losses that a script gives."""

    def sample(tree: TextTrees, beginnings: Sequence[SampleStart], *rest: object) -> list[list[SampledText]]:
        texts = ("Calculator(8 * 12)", "Calculator(oops)")
        return [[SampledText(text, True) for text in texts] for _ in beginnings]

    def losses_at(lm: object, texts: Any) -> list[list[Losses]]:
        return [[Losses(3.0, 2.5, 2.0 - place / 8) for place, *_ in calls] for _, calls in texts]

    monkeypatch.setattr(TextTrees, "sample", sample)
    monkeypatch.setattr("nightjar.tools.annotate.losses_at", losses_at)
    settings = replace(plain.SETTINGS, samples=3, max_call_tokens=12, max_text_tokens=24)
    annotator = Annotator(lm, make("calculator"), settings)
    found = annotator.annotate([TEXT, TARGET], ["seed0", "seed1"])
    sources = [AnnotatedText("corpus", None, "d", 0, TEXT), AnnotatedText("train", "t", "i", 1, TARGET)]
    # The digest is of rows that said what the filter makes of a measured call.
    rows = [
        row("calculator", source, candidate)
        | {"probability": None}
        | (
            {"status": "kept" if losses.reaches(1.0) else "below_threshold"}
            if (losses := candidate.losses)
            else {}
        )
        for source, one in zip(sources, found, strict=True)
        for candidate in one.candidates
    ]
    assert hashlib.sha256(json.dumps(rows).encode()).hexdigest() == DIGEST
