"""Instances as tensors of one forward pass: packed groups for causal models, padded rows for encoder-decoders.

A causal row is a group of instances of one task: their common prefix once, each instance seeing it and itself only.
A task's definition and examples are about two thirds of its prompts. Loss and gradients are those of the instances one
by one, to rounding; the floor of the work is the number of distinct tokens.

Which token sees which is decided by the mask alone, so a row's tokens may stand in any order: those whose next token
is a target go to the end, and the vocabulary's logits are computed for these columns only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

IGNORED = -100
# Segments of a row beside its instances (from 0): the shared prefix, and padding, which sees only itself.
_SHARED, _PADDING = -1, -2

Ids = np.ndarray | Sequence[int]
# (prompt ids, target ids), each at least one.
Pair = tuple[Ids, Ids]


def common(rows: Sequence[Ids]) -> int:
    """Count how many leading ids all rows share; for a single row, none are shared. The last id of a row never is."""
    if len(rows) < 2:
        return 0
    first = np.asarray(rows[0])
    shared = min(len(row) for row in rows) - 1
    for row in rows[1:]:
        differ = np.flatnonzero(np.asarray(row[:shared]) != first[:shared])
        shared = int(differ[0]) if len(differ) else shared
    return shared


def packed_length(group: Sequence[Pair]) -> int:
    """The tokens that a group takes in a packed row. The last token of a target predicts nothing and is not read."""
    shared = common([prompt for prompt, _ in group])
    return shared + sum(len(prompt) - shared + len(target) - 1 for prompt, target in group)


@dataclass(frozen=True)
class Packed:
    """Rows for a causal model, padded in front: `ids`, `positions`, `segments` are (rows, length); `labels`, which is
    (rows, kept), holds the targets of the last `kept` columns, or IGNORED. `tokens` counts what is no padding.
    `blocks`: attention skips blocks of tokens that do not see one another, instead of reading a dense mask.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    segments: torch.Tensor
    labels: torch.Tensor
    tokens: int
    blocks: bool = False

    def lengths(self) -> torch.Tensor:
        """The number of target tokens of the instance that each label belongs to; 1 where there is no label."""
        segments = self.segments[:, self.segments.shape[1] - self.labels.shape[1] :]
        segments = segments.where(self.labels != IGNORED, _PADDING)
        same = (segments[:, :, None] == segments[:, None, :]).sum(dim=-1)
        return same.where(self.labels != IGNORED, 1)

    def mask(self, dtype: torch.dtype) -> torch.Tensor | BlockMask:
        """Which token sees which: additive, (rows, 1, length, length), 0 where a token (third axis) sees another
        (fourth); or the same as a BlockMask.
        """
        segments, positions, (rows, length) = self.segments, self.positions, self.ids.shape

        def sees(row: torch.Tensor, _: Any, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
            query_segment, key_segment = segments[row, query], segments[row, key]
            is_visible = (key_segment == query_segment) | ((key_segment == _SHARED) & (query_segment >= 0))
            return is_visible & (positions[row, key] <= positions[row, query])

        if self.blocks:
            return create_block_mask(sees, rows, None, length, length, self.ids.device)
        row, place = (torch.arange(size, device=self.ids.device) for size in (rows, length))
        seen = sees(row[:, None, None], None, place[:, None], place)
        mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
        return mask.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]


@dataclass(frozen=True)
class PaddedBatch:
    """Rows for an encoder-decoder: `ids` and `seen` (1 where no padding) are (rows, source), `before` and `labels`
    (rows, target): the decoder reads `before`, the labels one place to the right.
    """

    ids: torch.Tensor
    seen: torch.Tensor
    before: torch.Tensor
    labels: torch.Tensor
    tokens: int

    def lengths(self) -> torch.Tensor:
        """The number of target tokens of the instance that each label belongs to; at least 1."""
        counts = (self.labels != IGNORED).sum(dim=1, keepdim=True)
        return counts.clamp(min=1).expand_as(self.labels)


def pack(groups: Sequence[Sequence[Pair]]) -> Packed:
    """Pack groups of instances, one group a row."""
    rows = [_row(group) for group in groups]
    length = max(len(ids) for ids, *_ in rows)
    label_columns = max(len(labels) for *_, labels in rows)

    def padded(column: int, width: int, filling: int) -> torch.Tensor:
        matrix = np.full((len(rows), width), filling, np.int64)
        for number, row in enumerate(rows):
            matrix[number, width - len(row[column]) :] = row[column]
        return torch.from_numpy(matrix)

    return Packed(
        padded(0, length, 0),
        padded(1, length, 0),
        padded(2, length, _PADDING),
        padded(3, label_columns, IGNORED),
        sum(len(ids) for ids, *_ in rows),
    )


def _row(group: Sequence[Pair]) -> tuple[np.ndarray, ...]:
    """Ids, positions, segments and labels of one group, the tokens that predict a target last."""
    shared = common([prompt for prompt, _ in group])
    read = [np.concatenate([prompt, target[:-1]]) for prompt, target in group]
    ids = np.concatenate([read[0][:shared], *(ids_read[shared:] for ids_read in read)])
    positions = np.concatenate([np.arange(shared), *(np.arange(shared, len(ids_read)) for ids_read in read)])
    lengths = [len(ids_read) - shared for ids_read in read]
    segments = np.repeat([_SHARED, *range(len(group))], [shared, *lengths])
    predicts = np.concatenate(
        [np.zeros(shared, bool)]
        + [
            np.arange(shared, len(ids_read)) >= len(prompt) - 1
            for ids_read, (prompt, _) in zip(read, group, strict=True)
        ]
    )
    order = np.argsort(predicts, kind="stable")
    labels = np.concatenate([np.asarray(target) for _, target in group])
    return ids[order], positions[order], segments[order], labels


def pad(pairs: Sequence[Pair], start: int, padding: int) -> PaddedBatch:
    """Pad instances for an encoder-decoder whose decoder begins with the id `start`."""
    source, answer = max(len(prompt) for prompt, _ in pairs), max(len(target) for _, target in pairs)
    ids = np.full((len(pairs), source), padding, np.int64)
    seen = np.zeros((len(pairs), source), np.int64)
    before = np.full((len(pairs), answer), padding, np.int64)
    labels = np.full((len(pairs), answer), IGNORED, np.int64)
    for number, (prompt, target) in enumerate(pairs):
        ids[number, : len(prompt)], seen[number, : len(prompt)] = prompt, 1
        before[number, 0], before[number, 1 : len(target)] = start, target[:-1]
        labels[number, : len(target)] = target
    tokens = sum(len(prompt) + len(target) for prompt, target in pairs)
    tensor = torch.from_numpy
    return PaddedBatch(tensor(ids), tensor(seen), tensor(before), tensor(labels), tokens)
