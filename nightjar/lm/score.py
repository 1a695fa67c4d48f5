"""What a language model thinks of a text: probabilities and log-probabilities of given tokens."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from nightjar.lm.forward import Prefix, forward
from nightjar.lm.load import LanguageModel


def token_probabilities(
    lm: LanguageModel, context: Sequence[int], text: Sequence[int], token: int, base: Prefix | None = None
) -> tuple[list[float], Prefix]:
    """P(token | context, text[:i]) for every i in 0..len(text)-1: the p_i of Toolformer (facts 3.2).

    `context` has at least one id, `text` too. `base`: a prefix that `context` may begin with. Also returns the keys
    and values of context and text (less its last id), for `generate.branch` to go on from.
    """
    ids = [*context, *text[:-1]]
    batch = forward(lm, [ids], keep=len(text), base=base)
    probabilities: list[float] = batch.logits[0].softmax(-1)[:, token].tolist()
    return probabilities, Prefix.of(ids, batch.cache)


def continuation_logprobs(
    lm: LanguageModel,
    rows: Sequence[tuple[Sequence[int], Sequence[int]]],
    batch_size: int = 16,
) -> list[list[float]]:
    """log p of each continuation token given its context and the tokens before it; natural logarithm.

    `rows`: pairs (context, continuation) of ids, contexts of at least one id. Rows of like length share a batch.
    """
    order = sorted(range(len(rows)), key=lambda row: len(rows[row][0]) + len(rows[row][1]))
    results: list[list[float]] = [[] for _ in rows]
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        keep = max(len(rows[row][1]) for row in chosen)
        if keep == 0:
            continue
        sequences = [[*rows[row][0], *rows[row][1][:-1]] for row in chosen]
        logits = forward(lm, sequences, keep=keep).logits
        for place, row in enumerate(chosen):
            continuation = rows[row][1]
            if not continuation:
                continue
            own = logits[place, -len(continuation) :].log_softmax(-1)
            picked = own.gather(-1, torch.tensor(list(continuation), device=own.device)[:, None])
            results[row] = picked[:, 0].tolist()
    return results
