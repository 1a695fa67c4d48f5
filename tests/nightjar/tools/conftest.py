"""What the tests of annotation share: one tiny random model, and a way to say what it "samples"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import pytest

from nightjar.models.load import LanguageModel, load, prepare
from nightjar.models.token_tree import Beginning, Sampled, TokenTree

Script = Callable[..., None]


@pytest.fixture(scope="module")
def lm(tiny_model: Path) -> LanguageModel:
    prepare(seed=0, threads=1)
    return load(tiny_model)


@pytest.fixture()
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Lets the model "sample" these texts, one after the other, at whatever place."""

    def script(*texts: str) -> None:
        def sample(tree: object, beginnings: Sequence[Beginning], *rest: object) -> list[list[Sampled]]:
            numbers = count()
            return [
                [Sampled(texts[next(numbers) % len(texts)], True) for _ in one.seeds] for one in beginnings
            ]

        monkeypatch.setattr(TokenTree, "sample", sample)

    return script
