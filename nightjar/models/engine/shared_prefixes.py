"""Shared prefixes: the beginning that many prompts have in common is computed once.

The prompts of one task share definition and examples, those of one tool its instructions: about two thirds of all
tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from nightjar.models.engine.forward_pass import PASS, advance
from nightjar.models.engine.kv_cache import KVCache, Prefix
from nightjar.models.engine.language_model import LanguageModel, causal_only

# A shared prefix of fewer ids is computed again for each prompt, because a pass of its own costs more.
LEAST_SHARED = 16


def common_length(rows: Sequence[Sequence[int]]) -> int:
    """Return the number of leading ids that all rows share."""
    # In lexical order, the first and the last row differ wherever any two do.
    first, last = min(rows, key=list), max(rows, key=list)
    for place, (first_id, last_id) in enumerate(zip(first, last, strict=False)):
        if first_id != last_id:
            return place
    return min(map(len, rows))


def shared_lengths(rows: Sequence[Sequence[int]], least: int = LEAST_SHARED) -> tuple[list[int], list[int]]:
    """Return an order in which rows with a common prefix are neighbours, and the length of each row's shared prefix.

    A group's rows all share one prefix, of at least `least` ids; a row of no group shares 0. A group ends where its
    prefix would become less than half as long, and before a row that shares more than twice as much with the next:
    questions on one document are a group, although all prompts have the instruction. The result depends on the set of
    rows alone.
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
    """Compute the keys and values of `ids`, PASS tokens in a pass; what `ids` and `base` have in common is copied."""
    causal_only(lm, "a shared prefix")
    if lm.engine.alone:
        return Prefix(list(ids), ())
    shared = common_length([ids, base.ids]) if base else 0
    if base and shared == len(ids):
        layers = tuple((keys[:, :, :shared], values[:, :, :shared]) for keys, values in base.layers)
        return Prefix(list(ids), layers)
    # Read as a sequence is, so that the prefix has the values that a sequence would have computed.
    cache = KVCache()
    page = cache.take(len(ids))
    if base and shared:
        cache.load(page, base, shared)
    for first in range(shared, len(ids), PASS):
        advance(lm, cache, [(page, ids[first : first + PASS])])
    return Prefix(
        list(ids),
        tuple((keys[None], values[None]) for keys, values in zip(cache.keys, cache.values, strict=True)),
    )
