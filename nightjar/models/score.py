"""Log-probabilities that a language model gives to tokens of given texts."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from nightjar.core.errors import NightjarError
from nightjar.models.forward import causal_only
from nightjar.models.load import LanguageModel

# Tokens of one forward pass, padding included, on a processor and on a GPU. More make neither faster.
PROCESSOR_TOKENS, GPU_TOKENS = 2048, 32768


def batch_tokens(lm: LanguageModel) -> int:
    """How many tokens a forward pass of `lm` may have."""
    return PROCESSOR_TOKENS if lm.device.type == "cpu" else GPU_TOKENS


def like_length(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Batches of row numbers, the shortest rows first: at most `most` tokens with padding, and at least one row."""
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        if batches and (len(batches[-1]) + 1) * lengths[row] <= most:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


@torch.inference_mode()
def logprobs_at(
    lm: LanguageModel, rows: Sequence[tuple[Sequence[int], Sequence[int]]], most: int | None = None
) -> list[list[float]]:
    """log p(ids[place] | ids[:place]), natural logarithm, for each (ids, places) and each of its places.

    Places are from 1 to len(ids) - 1. Rows of like length share a forward pass of at most `most` tokens. The
    model reads a row up to its last place, and its vocabulary is applied at the places alone. Raises NightjarError for
    another place, and for an encoder-decoder.
    """
    causal_only(lm, "computing the probabilities of a running text")
    for number, (ids, places) in enumerate(rows):
        if places and not 1 <= min(places) <= max(places) < len(ids):
            what = f"a place beyond 1 to {len(ids) - 1}"
            raise NightjarError(what, f"rows[{number}]", "give places of ids that have one before them")
    results: list[list[float]] = [[] for _ in rows]
    # Rows without places need no pass.
    wanted = [row for row, (_, places) in enumerate(rows) if places]
    lengths = [max(rows[row][1]) for row in wanted]
    for batch in like_length(lengths, most or batch_tokens(lm)):
        chosen = [wanted[place] for place in batch]
        _fill(lm, rows, chosen, max(lengths[place] for place in batch), results)
    return results


def _fill(
    lm: LanguageModel,
    rows: Sequence[tuple[Sequence[int], Sequence[int]]],
    chosen: Sequence[int],
    width: int,
    results: list[list[float]],
) -> None:
    """Put the log-probabilities of the chosen rows, one batch of `width` tokens, into `results`."""
    # Padding is behind the tokens, where no token sees it: no mask is needed.
    read = [list(rows[row][0][: max(rows[row][1])]) for row in chosen]
    ids = torch.tensor([row + [lm.tokenizer.end] * (width - len(row)) for row in read], device=lm.device)
    columns = sorted({place - 1 for row in chosen for place in rows[row][1]})
    keep = torch.tensor(columns, device=lm.device)
    logits = lm.model(input_ids=ids, use_cache=False, logits_to_keep=keep).logits
    index = {column: number for number, column in enumerate(columns)}
    triples = [
        (number, index[place - 1], rows[row][0][place])
        for number, row in enumerate(chosen)
        for place in rows[row][1]
    ]
    batch, column, token = torch.tensor(triples, device=lm.device).unbind(1)
    table = logits[batch, column].float().log_softmax(-1)
    values = iter(table.gather(1, token[:, None])[:, 0].tolist())
    for row in chosen:
        results[row] = [next(values) for _ in rows[row][1]]


def continuation_logprobs(
    lm: LanguageModel,
    rows: Sequence[tuple[Sequence[int], Sequence[int]]],
    most: int | None = None,
) -> list[list[float]]:
    """log p of each continuation token given its context and the tokens before it; natural logarithm.

    `rows`: pairs (context, continuation) of ids, contexts of at least one id. Otherwise as `logprobs_at`.
    """
    whole = [
        ([*context, *continuation], range(len(context), len(context) + len(continuation)))
        for context, continuation in rows
    ]
    return logprobs_at(lm, whole, most)
