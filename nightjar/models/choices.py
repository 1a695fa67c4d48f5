"""How likely a language model finds each of several continuations of a prompt.

What prompts and continuations have in common is read once: the beginning that many prompts share (the demonstrations of
a task), a prompt by all its continuations, and the pieces that two continuations begin with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from nightjar.models.forward import Prefix, causal_only, common_length, prefill, shared_lengths
from nightjar.models.load import LanguageModel
from nightjar.models.rows import Pool, Segment, advance
from nightjar.models.score import batch_tokens
from nightjar.models.tokenizer import Tokenizer


class Continued(NamedTuple):
    """The ids of a prompt with one of its continuations, which begins at the place `first`, 1 or later."""

    ids: tuple[int, ...]
    first: int


def continued(tokenizer: Tokenizer, prompt: str, text: str) -> Continued:
    """`prompt` and `text` as one text: a piece with characters of both belongs to the continuation.

    They follow what the tokenizer puts before a text. A continuation without anything before it follows the end-of-text
    token, as the first token of a document does.
    """
    ids, places = tokenizer.encode_with_offsets(prompt + text)
    first = next((number for number, (_, end) in enumerate(places) if end > len(prompt)), len(ids))
    before = tokenizer.before_text if not first else tokenizer.begin
    return Continued((*before, *ids), len(before) + first)


def continuation_sums(
    lm: LanguageModel,
    asked: Sequence[Sequence[Continued]],
    wanted: Sequence[int] | None = None,
    most: int | None = None,
) -> Iterator[tuple[int, list[float]]]:
    """For each prompt its number and, for each of its continuations, the sum of log p of its pieces, in nats.

    `asked` has the continuations of each prompt; `wanted` are the numbers of the prompts to score (None: all), in any
    order. A pass reads at most `most` tokens, unless one prompt alone has more. On the CPU a sum depends neither on
    `wanted` nor on `most`. Raises NightjarError for an encoder-decoder.
    """
    causal_only(lm, "comparing the continuations of a prompt")
    chosen = set(range(len(asked)) if wanted is None else wanted)
    stems = [_stem(one) for one in asked]
    # Over all prompts, so that what is shared does not depend on which are wanted.
    order, shared = shared_lengths(stems)
    base: Prefix | None = None
    for batch in _batches([n for n in order if n in chosen], stems, shared, most or batch_tokens(lm)):
        known = shared[batch[0]]
        beginning = list(stems[batch[0]][:known])
        if not known:
            base = None
        elif base is None or base.ids != beginning:
            base = prefill(lm, beginning)
        yield from _sums(lm, {number: asked[number] for number in batch}, base)


def _stem(continuations: Sequence[Continued]) -> tuple[int, ...]:
    """The ids before every continuation, as far as all have the same; at least one, which is read last."""
    length = min(common_length([one.ids for one in continuations]), *(one.first for one in continuations))
    return continuations[0].ids[:length]


def _batches(
    order: Sequence[int], stems: Sequence[Sequence[int]], shared: Sequence[int], most: int
) -> Iterator[list[int]]:
    """Prompts with the same beginning, at most `most` tokens after it, and at least one prompt."""
    batch: list[int] = []
    tokens = 0
    for number in order:
        known, own = shared[number], len(stems[number]) - shared[number]
        same = batch and shared[batch[0]] == known and stems[batch[0]][:known] == stems[number][:known]
        if batch and (not same or tokens + own > most):
            yield batch
            batch, tokens = [], 0
        batch.append(number)
        tokens += own
    if batch:
        yield batch


@torch.inference_mode()
def _sums(
    lm: LanguageModel, asked: dict[int, Sequence[Continued]], base: Prefix | None
) -> Iterator[tuple[int, list[float]]]:
    """The sums of prompts that begin with `base`.

    In lexical order, what continues a row follows it: the row is cut to what two neighbours share and read on.
    """
    pool = Pool()
    sums = {number: [0.0] * len(continuations) for number, continuations in asked.items()}
    waiting: dict[int, tuple[Segment, list[int], list[tuple[int, ...]]]] = {}
    for number, continuations in asked.items():
        found = {one.ids[:place] for one in continuations for place in range(one.first, len(one.ids))}
        segment = pool.take(max(map(len, found)))
        read: list[int] = []
        if base is not None:
            known = min(len(base.ids), min(map(len, found)) - 1)
            pool.load(segment, base, known)
            read = base.ids[:known]
        waiting[number] = segment, read, sorted(found, reverse=True)
    while waiting:
        reads, contexts_read = [], {}
        for number, (segment, read, contexts) in waiting.items():
            context = contexts.pop()
            segment.length = common_length([read, context]) if read else 0
            reads.append((segment, context[segment.length :]))
            read[:] = context
            contexts_read[number] = context
        logprobs = advance(lm, pool, reads).log_softmax(-1)
        for (number, context), row in zip(contexts_read.items(), logprobs, strict=True):
            for place, one in enumerate(asked[number]):
                if one.first <= len(context) < len(one.ids) and one.ids[: len(context)] == context:
                    sums[number][place] += float(row[one.ids[len(context)]])
        for number in [number for number, (_, _, contexts) in waiting.items() if not contexts]:
            pool.free(waiting.pop(number)[0])
            yield number, sums[number]
