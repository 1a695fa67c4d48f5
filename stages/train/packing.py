"""Several instances of one task as one sequence: their common prefix once, each instance seeing it and itself only.

A task's definition and examples are about two thirds of its prompts. Loss and gradients are those of the instances one
by one, to rounding; the floor of the work is the number of distinct tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from stages.lm.forward import common_length


@dataclass(frozen=True)
class Packed:
    """One sequence of `length` ids: `mask` (1, 1, length, length) is additive, 0 where a token may look.

    `places` are the positions whose next token is a target, `labels` those targets.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    mask: torch.Tensor
    places: torch.Tensor
    labels: torch.Tensor

    @property
    def length(self) -> int:
        return self.ids.shape[1]


def pack(prompts: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], dtype: torch.dtype) -> Packed:
    """Pack instances given as prompt ids (at least one each) and target ids (at least one each)."""
    shared = min(common_length(prompts), min(map(len, prompts)) - 1) if len(prompts) > 1 else 0
    ids, positions, segments = list(prompts[0][:shared]), list(range(shared)), [-1] * shared
    places: list[int] = []
    labels: list[int] = []
    for number, (prompt, target) in enumerate(zip(prompts, targets, strict=True)):
        # The last target token predicts nothing, so it is not read.
        own = [*prompt[shared:], *target[:-1]]
        first = len(ids) + len(prompt) - shared - 1
        places += range(first, first + len(target))
        labels += target
        positions += range(shared, shared + len(own))
        segments += [number] * len(own)
        ids += own
    segment = torch.tensor(segments)
    sees = (segment[None, :] == segment[:, None]) | (segment[None, :] == -1)
    sees &= torch.ones_like(sees).tril()
    mask = torch.zeros(sees.shape, dtype=dtype).masked_fill(~sees, torch.finfo(dtype).min)
    return Packed(
        torch.tensor([ids]),
        torch.tensor([positions]),
        mask[None, None],
        torch.tensor(places),
        torch.tensor(labels),
    )
