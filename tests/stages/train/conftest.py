"""Encoded artifacts of a few instances, written as the encode stage writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nightjar import params
from nightjar.params.train import Recipe
from stages.encode.encoded_tasks import TokenWriter
from stages.train.step_plan import EncodedInstances
from tests.conftest import ROOT

# (side, task, id, prompts, targets)
Instance = tuple[str, str, str, Sequence[Sequence[int]], Sequence[Sequence[int]]]
Maker = Callable[..., EncodedInstances]


@pytest.fixture()
def encoded(tmp_path: Path) -> Maker:
    """Write instances into a folder (by default a fresh one) and open them."""
    made = 0

    def make(
        instances: Sequence[Instance], encoder_decoder: bool = False, folder: Path | None = None
    ) -> EncodedInstances:
        nonlocal made
        made += 1
        artifact = folder or tmp_path / f"encoded-{made}"
        (artifact / "tokens").mkdir(parents=True)
        with TokenWriter(artifact / "tokens", encoder_decoder) as writer:
            for instance in instances:
                writer.add(*instance)
        return EncodedInstances(artifact)

    return make


def recipe(**changes: Any) -> Recipe:
    """A recipe for tiny models, with changes."""
    base = params.load(ROOT / "params.yaml").train.recipe("tk_instruct")
    tiny = {"method": "full", "lora_rank": 4, "precision": "float32", "learning_rate": 0.01, "epochs": 3.0}
    sizes = {"batch_size": 4, "batch_tokens": 256, "evaluate_every": None, "checkpoint_every": None}
    return base.model_copy(update={**tiny, **sizes, **changes})
