"""Models on a GPU never mix its tensors with those of the CPU, and answer as on the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nightjar.models.completions import Completion
from nightjar.models.engine.generation import generate
from nightjar.models.engine.language_model import Engine, LanguageModel
from nightjar.models.engine.loading import load
from nightjar.models.engine.log_probabilities import Continuation, continuation_sums, text_loss
from nightjar.models.engine.sample_trees import stream_samples
from nightjar.models.engine.sampling import Sampling, generator_for
from nightjar.models.engine.sequences import Prompt
from nightjar.models.engine.shared_prefixes import prefill
from nightjar.search.reranker import embed
from nightjar.tools import Toolbox, answer, make
from stages.train.model import loss_of, to
from stages.train.packing import Packed, pack
from tests.second_device import second_device  # noqa: F401  a fixture

PROMPTS = [[5, 6, 7, 8, 9, 10, 11, 12, 13], [5, 6, 14, 15], [16, 17, 18, 19, 20, 21, 22, 23]]


def sampling() -> Sampling:
    return Sampling(1.0, lambda row: generator_for(3, str(row)), 0.9)


def answers(lm: LanguageModel) -> list[Completion]:
    """Greedy and drawn texts."""
    return [*generate(lm, PROMPTS, 6, batch_size=2), *generate(lm, PROMPTS, 6, sampling=sampling())]


def scores(lm: LanguageModel) -> list[float]:
    """Choices, the loss of a text, and vectors."""
    groups = [[Continuation((*ids, *more), len(ids)) for more in ((30, 31), (32,))] for ids in PROMPTS]
    sums = [total for _, several in continuation_sums(lm, groups) for total in several]
    rows = [np.array(ids, np.int32) for ids in PROMPTS[:2]]
    vectors = embed(lm, rows, prefill(lm, [5, 6]), 64)
    return [*sums, text_loss(lm, list(range(40, 70)), 16), *vectors.flatten().tolist()]


def test_tensors_of_two_devices_are_refused(second_device: None) -> None:  # noqa: F811
    there = torch.tensor([1.0, 2.0], device="cuda")
    assert there.device.type == (there + 1).to(torch.float64).device.type == "cuda"
    assert there.cpu().device.type == "cpu"
    with pytest.raises(RuntimeError, match="tensors of two devices in add"):
        there + torch.ones(2)
    with pytest.raises(TypeError, match="numpy"):
        there.numpy()


@pytest.mark.parametrize("engine", Engine)
def test_a_causal_model(
    engine: Engine, tiny_model: Path, llama: LanguageModel, request: pytest.FixtureRequest
) -> None:
    here = replace(llama, engine=engine)
    wanted = answers(here), scores(here)
    drawn = list(stream_samples(here, [Prompt(0, PROMPTS[0], 6)], 5, sampling()))
    called = answer(here, ["Output:"], Toolbox([make("calculator")]), max_new_tokens=6)
    packed = pack([[(ids[:3], ids[3:])] for ids in PROMPTS])
    with torch.no_grad():
        loss = float(loss_of(here.model, packed, torch.float32))
    request.getfixturevalue("second_device")
    there = load(tiny_model)
    # An engine that fails is not chosen.
    assert there.device.type == "cuda" and there.engine is llama.engine
    there = replace(there, engine=engine)
    assert answers(there) == wanted[0]
    assert scores(there) == pytest.approx(wanted[1], abs=1e-5)
    assert list(stream_samples(there, [Prompt(0, PROMPTS[0], 6)], 5, sampling())) == drawn
    assert answer(there, ["Output:"], Toolbox([make("calculator")]), max_new_tokens=6) == called
    moved = to(packed, there.device)
    assert isinstance(moved, Packed)
    with torch.no_grad():
        assert float(loss_of(there.model, moved, torch.float32)) == pytest.approx(loss, rel=1e-5)


def test_an_encoder_decoder(tiny_t5: Path, request: pytest.FixtureRequest) -> None:
    here = load(tiny_t5)
    wanted = answers(here)
    request.getfixturevalue("second_device")
    there = load(tiny_t5)
    assert there.engine is here.engine
    assert answers(there) == wanted
