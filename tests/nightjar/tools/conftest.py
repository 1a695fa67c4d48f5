"""What the tests of annotation share: one tiny random model, and a way to say what it "samples"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import pytest

from nightjar.models.engine.language_model import LanguageModel
from nightjar.models.engine.loading import load, prepare
from nightjar.models.engine.text_trees import SampledText, SampleStart, TextTrees

Script = Callable[..., None]


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


@pytest.fixture()
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Lets the model "sample" these texts, one after the other, at whatever place."""

    def script(*texts: str) -> None:
        def sample(tree: object, beginnings: Sequence[SampleStart], *rest: object) -> list[list[SampledText]]:
            numbers = count()
            return [
                [SampledText(texts[next(numbers) % len(texts)], True) for _ in one.seeds]
                for one in beginnings
            ]

        monkeypatch.setattr(TextTrees, "sample", sample)

    return script
