"""Packed groups give the loss and the gradients of their instances one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from stages.lm.load import load, prepare
from stages.train.loop import group_loss
from stages.train.packing import pack


def test_loss_and_gradients_are_those_of_the_instances_alone(tiny_model: Path) -> None:
    prepare(seed=0, threads=1)
    lm = load(tiny_model)
    encode = lm.tokenizer.encode
    head = encode("Definition: say what it is.\n\n Positive Example 1 -\nInput: a.\n Output: b.\n\n")
    prompts = [
        [*head, *encode(text)] for text in ("Input: x\nOutput:", "Input: a longer one\nOutput:", "Go:")
    ]
    targets = [[*encode(text), lm.tokenizer.end] for text in (" yes", " no, it is not", " 96 pens")]

    def gradients() -> list[torch.Tensor]:
        made = [p.grad.clone() for p in lm.model.parameters() if p.grad is not None]
        lm.model.zero_grad()
        return made

    alone = torch.zeros(())
    for prompt, target in zip(prompts, targets, strict=True):
        ids = torch.tensor([[*prompt, *target]])
        labels = torch.tensor([[-100] * len(prompt) + target])
        loss = lm.model(input_ids=ids, labels=labels).loss * len(target)
        loss.backward()
        alone += loss.detach()
    wanted = gradients()

    packed = pack(prompts, targets, torch.float32)
    assert packed.length < sum(map(len, prompts)) - len(head)
    together = group_loss(lm.model, packed)
    together.backward()
    assert float(together.detach()) == pytest.approx(float(alone), rel=1e-5)
    for left, right in zip(gradients(), wanted, strict=True):
        assert torch.allclose(left, right, atol=1e-5, rtol=1e-4)
