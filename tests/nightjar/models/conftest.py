"""What tests of several models share."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightjar.models.load import LanguageModel, load, prepare


@pytest.fixture(scope="session")
def llama(tiny_model: Path) -> LanguageModel:
    """A causal model of a few tensors; tests leave it as it is."""
    prepare(seed=0, threads=1)
    return load(tiny_model)


@pytest.fixture(scope="session")
def lm(llama: LanguageModel) -> LanguageModel:
    """Some files have other models too."""
    return llama
