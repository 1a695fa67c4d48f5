"""The comparison with plain transformers tells an engine that is right from one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from bench import engine_agreement
from nightjar.models.engine.equality import TOLERANCES
from nightjar.models.engine.loading import load, prepare


def test_what_is_the_same_agrees_and_other_weights_do_not(
    tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two families, in both precisions. Two threads would wait for each other beside the other workers.
    words = ["--model", str(tiny_model), "--prompts", "4", "--families", "2", "--threads", "1"]
    assert engine_agreement.main(words) == 0
    assert "float32: choices" in (printed := capsys.readouterr().out) and "6 of 6 texts the same" in printed
    lm = load(tiny_model)
    other = load(tiny_model).model
    assert engine_agreement.compare(lm, other, engine_agreement.PROMPTS, 5).within(TOLERANCES[torch.float32])
    with torch.no_grad():
        next(iter(other.parameters())).mul_(1.1)
    assert not engine_agreement.compare(lm, other, engine_agreement.PROMPTS, 5).within(
        TOLERANCES[torch.float32]
    )


def test_a_family_that_does_not_run_is_named(tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    # It reads both ways.
    assert not engine_agreement.of_families(lm, ["cpmant"], torch.float32)
    assert "cpmant: " in capsys.readouterr().out
