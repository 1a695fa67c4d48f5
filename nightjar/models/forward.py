"""Shared prefixes: what many prompts have in common is computed once.

The prompts of one task share definition and examples, those of one tool its instructions: about two thirds of all
tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from transformers import DynamicCache

from nightjar.core.errors import NightjarError
from nightjar.models.rows import PASS, Pool, advance

if TYPE_CHECKING:
    from nightjar.models.load import LanguageModel

# A shared beginning of fewer ids is computed again for each prompt, because a pass of its own costs more.
LEAST_SHARED = 16


def causal_only(lm: LanguageModel, what: str) -> None:
    """Raise NightjarError if `what` is asked of an encoder-decoder."""
    if lm.encoder_decoder:
        problem = f"{what} needs a causal model, this one is an encoder-decoder"
        raise NightjarError(problem, "models.language_model", "use another model, or leave these stages out")


@dataclass(frozen=True)
class Prefix:
    """Token ids and the keys and values the model computed for them, one (1, heads, length, size) pair a layer.

    A model that reads texts alone has no layers here.
    """

    ids: list[int]
    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]

    def cache(self, rows: int, length: int) -> DynamicCache:
        """A fresh cache of the first `length` tokens for a batch of `rows`; the prefix stays as it is."""
        cache = DynamicCache()
        for layer, (keys, values) in enumerate(self.layers):
            cache.update(
                keys[:, :, :length].expand(rows, -1, -1, -1).contiguous(),
                values[:, :, :length].expand(rows, -1, -1, -1).contiguous(),
                layer,
            )
        return cache


def common_length(rows: Sequence[Sequence[int]]) -> int:
    """Return the number of leading ids that all rows share."""
    # In lexical order, the first and the last row differ wherever any two do.
    first, last = min(rows, key=list), max(rows, key=list)
    for place, (first_id, last_id) in enumerate(zip(first, last, strict=False)):
        if first_id != last_id:
            return place
    return min(map(len, rows))


def shared_lengths(rows: Sequence[Sequence[int]], least: int = LEAST_SHARED) -> tuple[list[int], list[int]]:
    """An order of the rows in which those that begin alike are neighbours, and how many leading ids each shares.

    A group's rows all share the same beginning, of at least `least` ids; a row of no group shares 0. A group ends where
    its beginning would become less than half as long, and before a row that shares more than twice as much with the
    next: questions on one document are a group, although all prompts have the instruction. The result depends on the
    set of rows alone.
    """
    order = sorted(range(len(rows)), key=lambda row: list(rows[row]))
    shared = [0] * len(rows)
    group: list[int] = []
    length = 0

    def close() -> None:
        for member in group if len(group) > 1 else ():
            shared[member] = length

    for row in order:
        # Of rows in lexical order, one has as much in common with a group as with its last row.
        common = common_length([rows[group[-1]], rows[row]]) if group else 0
        last = group[-1:]
        if len(group) > 1 and common >= max(least, 2 * length + 1):
            group.pop()
            close()
            group, length = [*last, row], common
        elif group and common >= max(least, length // 2 if len(group) > 1 else 0):
            group.append(row)
            length = min(length, common)
        else:
            close()
            group, length = [row], len(rows[row])
    close()
    return order, shared


@torch.inference_mode()
def prefill(lm: LanguageModel, ids: Sequence[int], base: Prefix | None = None) -> Prefix:
    """Compute the keys and values of `ids`, taking from `base` what the two have in common; PASS tokens in a pass.

    Raises NightjarError for an encoder-decoder.
    """
    causal_only(lm, "a shared prefix")
    if lm.engine.alone:
        return Prefix(list(ids), ())
    shared = common_length([ids, base.ids]) if base else 0
    if base and shared == len(ids):
        layers = tuple((keys[:, :, :shared], values[:, :, :shared]) for keys, values in base.layers)
        return Prefix(list(ids), layers)
    # Read as a row is, so that the prefix has what a row would have computed.
    pool = Pool()
    row = pool.take(len(ids))
    if base and shared:
        pool.load(row, base, shared)
    for first in range(shared, len(ids), PASS):
        advance(lm, pool, [(row, ids[first : first + PASS])])
    return Prefix(
        list(ids),
        tuple((keys[None], values[None]) for keys, values in zip(pool.keys, pool.values, strict=True)),
    )
