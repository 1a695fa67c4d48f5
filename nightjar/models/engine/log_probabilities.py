"""Log-probabilities that a language model gives: to tokens of texts, running texts, and continuations of a prompt.

What prompts and continuations have in common is read once: the beginning that many prompts share (the demonstrations of
a task), a prompt by all its continuations, and the pieces that two continuations begin with. Running texts are read in
overlapping windows, so that no text is cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from nightjar.core.errors import NightjarError
from nightjar.models.engine.forward_pass import advance, logits_at
from nightjar.models.engine.kv_cache import KVCache, KVPage, Prefix
from nightjar.models.engine.language_model import LanguageModel, causal_only
from nightjar.models.engine.shared_prefixes import common_length, prefill, shared_lengths
from nightjar.models.tokenizer import Tokenizer, like_length

# Tokens of one forward pass, padding included, on a processor and on a GPU. More make neither faster.
PROCESSOR_TOKENS, GPU_TOKENS = 2048, 32768
# Tokens in memory for each that is read: each row has a copy of the beginning that all of its batch share.
KEPT = 4


def batch_tokens(lm: LanguageModel) -> int:
    """Return the largest number of tokens of a forward pass of `lm`."""
    return PROCESSOR_TOKENS if lm.device.type == "cpu" else GPU_TOKENS


@torch.inference_mode()
def logprobs_at(
    lm: LanguageModel, rows: Sequence[tuple[Sequence[int], Sequence[int]]], most_tokens: int | None = None
) -> list[list[float]]:
    """Return log p(ids[place] | ids[:place]), natural logarithm, for each (ids, places) and each of its places.

    Places are from 1 to len(ids) - 1. Rows of like length share a forward pass of at most `most_tokens`. The model
    reads a row up to its last place, and its vocabulary is applied at the places alone.
    """
    causal_only(lm, "computing the probabilities of a running text")
    for number, (ids, places) in enumerate(rows):
        if places and not 1 <= min(places) <= max(places) < len(ids):
            what = f"a place beyond 1 to {len(ids) - 1}"
            raise NightjarError(what, f"rows[{number}]", "give places of ids that have one before them")
    results: list[list[float]] = [[] for _ in rows]
    # Rows without places need no pass.
    rows_with_places = [row for row, (_, places) in enumerate(rows) if places]
    lengths = [max(rows[row][1]) for row in rows_with_places]
    for batch in like_length(lengths, most_tokens or batch_tokens(lm)):
        chosen = [rows_with_places[place] for place in batch]
        _fill(lm, rows, chosen, results)
    return results


def _fill(
    lm: LanguageModel,
    rows: Sequence[tuple[Sequence[int], Sequence[int]]],
    chosen: Sequence[int],
    results: list[list[float]],
) -> None:
    """Put the log-probabilities of the chosen rows, one batch into `results`."""
    read = [list(rows[row][0][: max(rows[row][1])]) for row in chosen]
    columns = sorted({place - 1 for row in chosen for place in rows[row][1]})
    logits = logits_at(lm, read, columns)
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
    most_tokens: int | None = None,
) -> list[list[float]]:
    """Return log p of each continuation token given its context and the tokens before it; natural logarithm.

    `rows`: pairs (context, continuation) of ids, contexts of at least one id. Otherwise as `logprobs_at`.
    """
    texts = [
        ([*context, *continuation], range(len(context), len(context) + len(continuation)))
        for context, continuation in rows
    ]
    return logprobs_at(lm, texts, most_tokens)


def scoring_windows(length: int, window: int, unscored: int = 1) -> list[tuple[int, int, int]]:
    """List (start, first, end) of every window over `length` tokens: those from start are read, from first scored.

    Each token but the first `unscored` is scored once. A window has at most `window` tokens; after the first one, half
    of them are context. Raises ValueError for windows that have no token to score.
    """
    if window <= unscored:
        raise ValueError(f"a window of {window} tokens has nothing to score")
    places, first = list[tuple[int, int, int]](), unscored
    while first < length:
        end = min(length, first + window // 2 if places else window)
        places.append((max(0, end - window), first, end))
        first = end
    return places


def text_loss(lm: LanguageModel, ids: Sequence[int], window: int) -> float:
    """The sum of -ln p of all tokens of a text but the first, in nats; 0.0 for fewer than two.

    `ids` are those of `Tokenizer.continuation`; the model reads what its tokenizer puts before a text as well. The
    first token is context alone: nothing of the text is before it, and a server gives it no probability. Others follow
    at least window // 2 tokens, or all that are before them; see `scoring_windows`. Perplexity is
    exp(loss / (len(ids) - 1)).
    """
    causal_only(lm, "perplexity")
    begin = lm.tokenizer.begin
    text = [*begin, *ids]
    places = scoring_windows(len(text), window, len(begin) + 1)
    rows = [(text[start:first], text[first:end]) for start, first, end in places]
    # One at a time: the logits of a window take tokens x vocabulary.
    loss = -math.fsum(logprob for row in continuation_logprobs(lm, rows, 1) for logprob in row)
    if not math.isfinite(loss):
        raise NightjarError(
            "the model gives a token no probability", "models.language_model", "use another model"
        )
    return loss + 0.0


class Continuation(NamedTuple):
    """The ids of a prompt with one of its continuations, which begins at the place `first`, 1 or later."""

    ids: tuple[int, ...]
    first: int


def encode_continuation(tokenizer: Tokenizer, prompt: str, text: str) -> Continuation:
    """`prompt` and `text` as one text: a piece with characters of both belongs to the continuation.

    They follow what the tokenizer puts before a text. A continuation without anything before it follows the end-of-text
    token, as the first token of a document does.
    """
    ids, places = tokenizer.encode_with_offsets(prompt + text)
    first = next((number for number, (_, end) in enumerate(places) if end > len(prompt)), len(ids))
    before = tokenizer.before_text if not first else tokenizer.begin
    return Continuation((*before, *ids), len(before) + first)


def continuation_sums(
    lm: LanguageModel,
    groups: Sequence[Sequence[Continuation]],
    numbers: Sequence[int] | None = None,
    most_tokens: int | None = None,
) -> Iterator[tuple[int, list[float]]]:
    """Yield each prompt's number and, for each of its continuations, the sum of log p of its tokens, in nats.

    `groups` has the continuations of each prompt; `numbers` are those of the prompts to score (None: all), in any
    order. A pass reads at most `most_tokens`, unless one prompt alone has more. On the CPU a sum depends neither on
    `numbers` nor on `most_tokens`.
    """
    causal_only(lm, "comparing the continuations of a prompt")
    chosen = set(range(len(groups)) if numbers is None else numbers)
    stems = [_stem(one) for one in groups]
    # Over all prompts: what is shared does not depend on which are scored now.
    order, shared = shared_lengths(stems)
    base: Prefix | None = None
    for batch in _batches([n for n in order if n in chosen], stems, shared, most_tokens or batch_tokens(lm)):
        shared_ids = shared[batch[0]]
        beginning = list(stems[batch[0]][:shared_ids])
        if not shared_ids:
            base = None
        elif base is None or base.ids != beginning:
            base = prefill(lm, beginning)
        yield from _sums(lm, {number: groups[number] for number in batch}, base)


def _stem(continuations: Sequence[Continuation]) -> tuple[int, ...]:
    """Return the ids before every continuation, as far as all have the same: at least one, which is read last."""
    length = min(common_length([one.ids for one in continuations]), *(one.first for one in continuations))
    return continuations[0].ids[:length]


def _batches(
    order: Sequence[int], stems: Sequence[Sequence[int]], shared: Sequence[int], most_tokens: int
) -> Iterator[list[int]]:
    """Batch prompts with the same prefix: at most `most_tokens` after it, and KEPT times as many with it.

    A batch has one prompt at least.
    """
    batch: list[int] = []
    tokens = stored_tokens = 0
    for number in order:
        shared_ids, stem_ids = shared[number], len(stems[number])
        same = (
            batch
            and shared[batch[0]] == shared_ids
            and stems[batch[0]][:shared_ids] == stems[number][:shared_ids]
        )
        if batch and (
            not same
            or tokens + stem_ids - shared_ids > most_tokens
            or stored_tokens + stem_ids > KEPT * most_tokens
        ):
            yield batch
            batch, tokens, stored_tokens = [], 0, 0
        batch.append(number)
        tokens, stored_tokens = tokens + stem_ids - shared_ids, stored_tokens + stem_ids
    if batch:
        yield batch


@torch.inference_mode()
def _sums(
    lm: LanguageModel, groups: dict[int, Sequence[Continuation]], base: Prefix | None
) -> Iterator[tuple[int, list[float]]]:
    """Yield the sums of prompts that begin with the prefix `base`.

    In lexical order, what continues a context follows it: the page is cut to what two neighbours share and read on.
    """
    cache = KVCache(0)  # as wide as its rows need
    sums = {number: [0.0] * len(continuations) for number, continuations in groups.items()}
    waiting: dict[int, tuple[KVPage, list[int], list[tuple[int, ...]]]] = {}
    contexts_of = {
        number: {
            continuation.ids[:place]
            for continuation in continuations
            for place in range(continuation.first, len(continuation.ids))
        }
        for number, continuations in groups.items()
    }
    # All rows before the first is filled, so that the cache is made once.
    pages = {number: cache.take(max(map(len, distinct))) for number, distinct in contexts_of.items()}
    for number, distinct in contexts_of.items():
        page = pages[number]
        read: list[int] = []
        if base is not None:
            shared_ids = min(len(base.ids), min(map(len, distinct)) - 1)
            cache.load(page, base, shared_ids)
            read = base.ids[:shared_ids]
        waiting[number] = page, read, sorted(distinct, reverse=True)
    while waiting:
        reads, contexts_read = [], {}
        for number, (page, read, contexts) in waiting.items():
            context = contexts.pop()
            page.length = common_length([read, context]) if read else 0
            reads.append((page, context[page.length :]))
            read[:] = context
            contexts_read[number] = context
        logprobs = advance(lm, cache, reads).log_softmax(-1)
        for (number, context), row in zip(contexts_read.items(), logprobs, strict=True):
            for place, continuation in enumerate(groups[number]):
                if (
                    continuation.first <= len(context) < len(continuation.ids)
                    and continuation.ids[: len(context)] == context
                ):
                    sums[number][place] += float(row[continuation.ids[len(context)]])
        for number in [number for number, (_, _, contexts) in waiting.items() if not contexts]:
            cache.free(waiting.pop(number)[0])
            yield number, sums[number]
