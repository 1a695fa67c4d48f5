"""Rows of packed groups, and padded rows, give the loss and the gradients of their instances one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import BlockMask

from nightjar.models.engine.loading import load, prepare
from stages.train.model import loss_of
from stages.train.packing import IGNORED, common, pack, packed_length, pad
from tests.tiny_models import encoder_decoder


def gradients(model: Any) -> list[torch.Tensor]:
    made = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    return made


def assert_alike(model: Any, made: Any, loss: float, wanted: list[torch.Tensor], large: bool = False) -> None:
    """The rows have this loss and these gradients. Where gradients are large, rounding shows against the whole."""
    together = loss_of(model, made, torch.float32)
    together.backward()
    assert float(together.detach()) == pytest.approx(loss, rel=1e-5)
    for left, right in zip(gradients(model), wanted, strict=True):
        if large:
            assert float((left - right).norm()) <= 3e-4 * float(right.norm())
        else:
            assert torch.allclose(left, right, atol=1e-5, rtol=1e-4)


def alone(model: Any, pairs: list[tuple[list[int], list[int]]], causal: bool) -> float:
    """The summed loss by transformers' own, an instance at a time; gradients are left in the model."""
    total = 0.0
    for prompt, target in pairs:
        ids = torch.tensor([[*prompt, *target] if causal else prompt])
        labels = torch.tensor([[-100] * len(prompt) + target if causal else target])
        loss = model(input_ids=ids, labels=labels).loss * len(target)
        loss.backward()
        total += float(loss.detach())
    return total


@pytest.mark.parametrize("shared", [True, False])
def test_a_causal_model_reads_shared_prefixes_once(tiny_model: Path, shared: bool) -> None:
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    encode = lm.tokenizer.encode
    head = encode("Definition: say what it is.\n\n Positive Example 1 -\nInput: a.\n Output: b.\n\n")
    texts = [
        ("Input: x\nOutput:", " yes"),
        ("Input: a longer one\nOutput:", " no, it is not"),
        ("Go:", " 96"),
    ]
    pairs = [([*head, *encode(asked)], [*encode(said), lm.tokenizer.end]) for asked, said in texts]
    groups = [pairs, [(encode("Other task:"), encode(" x"))]] if shared else [[pair] for pair in pairs]
    flat = [pair for group in groups for pair in group]
    wanted_loss, wanted = alone(lm.model, flat, causal=True), gradients(lm.model)
    packed = pack(groups)
    assert packed.tokens == sum(map(packed_length, groups))
    assert (packed.tokens == sum(len(p) + len(t) - 1 for p, t in flat)) != shared
    assert_alike(lm.model, packed, wanted_loss, wanted)


def test_texts_in_one_row_do_not_see_one_another(tiny_model: Path) -> None:
    """Rows of several texts give the losses and gradients of the texts alone, and every token of a text counts."""
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    end = lm.tokenizer.end
    texts = [
        " Today is Monday.",
        " 12 * 8 is [Calculator(12 * 8) -> 96] 96.",
        " a",
        " The same",
        " The same too",
    ]
    pairs = [([end], [*lm.tokenizer.encode(text), end]) for text in texts]
    wanted_loss, wanted = alone(lm.model, pairs, causal=True), gradients(lm.model)
    packed = pack([pairs[:3], pairs[3:]])
    assert packed.tokens == sum(len(target) for _, target in pairs) == int((packed.labels != IGNORED).sum())
    assert int((packed.positions == 0).sum()) >= len(texts)
    assert_alike(lm.model, packed, wanted_loss, wanted)


def test_by_blocks_the_loss_is_that_of_a_dense_mask(tiny_model: Path) -> None:
    """The kernels by blocks need a GPU: their plain form in torch stands in for them, without gradients."""
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    draw = np.random.default_rng(0)
    head, *rest = (draw.integers(3, 40, size).tolist() for size in (60, 30, 40, 50, 60, 20, 70, 10))
    shared = [(head + rest[0], rest[1]), (head + rest[2], rest[3])]
    made = pack([[*shared, *shared], [(rest[4], rest[5])], [(rest[6], rest[0]), (rest[1], rest[2])]])
    blocks = replace(made, blocks=True)
    mask = blocks.mask(torch.float32)
    assert isinstance(mask, BlockMask)
    assert int(mask.kv_num_blocks.sum()) < made.ids.shape[0] * mask.kv_num_blocks.shape[-1] ** 2
    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        wanted, found = (float(loss_of(lm.model, it, torch.float32)) for it in (made, blocks))
    assert found == pytest.approx(wanted, rel=1e-5)


def test_an_encoder_decoder_reads_padded_rows(tmp_path: Path) -> None:
    prepare(seed=0, threads=1)
    lm = load(encoder_decoder(tmp_path))
    texts = [("Input: a cow.\nOutput: ", "moo"), ("Input: a much longer one.\nOutput: ", "no, it is not")]
    pairs = [(lm.tokenizer.encode(asked), lm.tokenizer.encode(said)) for asked, said in texts]
    wanted_loss, wanted = alone(lm.model, pairs, causal=False), gradients(lm.model)
    config = lm.model.config
    assert_alike(
        lm.model,
        pad(pairs, config.decoder_start_token_id, config.pad_token_id),
        wanted_loss,
        wanted,
        large=True,
    )


IDS = st.lists(st.integers(1, 3), min_size=1, max_size=6)
GROUPS = st.lists(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=4), min_size=1, max_size=3)


@given(groups=GROUPS)
def test_every_token_sees_its_own_instance_up_to_itself(
    groups: list[list[tuple[list[int], list[int]]]],
) -> None:
    """By the mask alone, the ids that a predicting column sees, in the order of their positions, are its context."""
    packed = pack(groups)
    dense = packed.mask(torch.float32)
    assert isinstance(dense, torch.Tensor)
    mask = dense[:, 0]
    for row, group in enumerate(groups):
        context = [prompt + target[:n] for prompt, target in group for n in range(len(target))]
        labels = [label for _, target in group for label in target]
        columns = range(packed.ids.shape[1] - len(labels), packed.ids.shape[1])
        assert packed.labels[row].tolist() == [IGNORED] * (packed.labels.shape[1] - len(labels)) + labels
        for column, wanted in zip(columns, context, strict=True):
            seen = (mask[row, column] == 0).nonzero().flatten()
            order = packed.positions[row, seen].argsort()
            assert packed.ids[row, seen[order]].tolist() == wanted
            assert packed.positions[row, seen[order]].tolist() == list(range(len(wanted)))
    # No column sees nothing at all: a softmax over nothing would be no number.
    assert (mask == 0).any(-1).all()


@given(rows=st.lists(IDS, min_size=2, max_size=5))
def test_the_shared_prefix_is_the_longest_that_leaves_every_row_a_token(rows: list[list[int]]) -> None:
    wanted = max(n for n in range(min(map(len, rows))) if len({tuple(row[:n]) for row in rows}) == 1)
    assert common(rows) == wanted
