"""Reranker: a language model compares a question with passages (PGRA, facts 4.3).

Question and passages alike become prompts of the task. A text's vector is the model's last hidden state at the last
token of its prompt, after which the answer would come, of unit length. Passages are ordered by the dot product with the
question, and their scores are its softmax. All prompts of a task begin with the same demonstrations: that beginning
runs through the model once, and every text once, whatever number of questions it is a candidate of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError
from nightjar.lm.forward import LEAST_SHARED, Prefix, causal_only, prefill
from nightjar.lm.load import LanguageModel
from nightjar.lm.tokenizer import Tokenizer

ELLIPSIS = "..."
Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Prompts:
    """The prompts of a task: for each text its token ids, demonstrations included.

    `left_out`: how many demonstrations are not in them. `cut`: the places of the texts that were shortened.
    """

    rows: list[Ids]
    left_out: int
    cut: list[int]


def prompts(
    tokenizer: Tokenizer,
    query: Callable[[str], str],
    prefixes: Sequence[str],
    texts: Sequence[str],
    max_tokens: int,
) -> Prompts:
    """The prompts of all `texts` of a task, each of at most `max_tokens` tokens, with one prefix for all.

    It is the first of `prefixes` with which the longest prompt fits; with the last one, which is empty, all do.
    `query` makes the prompt of a text, which is never cut: where it is too long by itself, the text in it is, at its
    end. (The published code cuts the end of the whole prompt instead.) Raises NightjarError if the prompt of an empty
    text is too long.
    """
    asked, cut, lengths = [], [], []
    for place, text in enumerate(texts):
        prompt = query(text)
        length = len(tokenizer.encode(prompt))
        if length > max_tokens:
            prompt = _shortened(tokenizer, query, text, max_tokens)
            length = len(tokenizer.encode(prompt))
            cut.append(place)
        asked.append(prompt)
        lengths.append(length)
    longest = asked[int(np.argmax(lengths))] if asked else ""
    for left_out, prefix in enumerate(prefixes):
        if len(tokenizer.encode(prefix + longest)) > max_tokens:
            continue
        rows = [np.array(tokenizer.encode(prefix + prompt), np.int32) for prompt in asked]
        # Where prefix and prompt meet, tokens may merge: a text of fewer tokens may have more with the prefix.
        if max(map(len, rows), default=0) <= max_tokens:
            return Prompts(rows, left_out, cut)
    raise ValueError("the last prefix is not empty")


def _shortened(tokenizer: Tokenizer, query: Callable[[str], str], text: str, max_tokens: int) -> str:
    """The prompt of as much of the beginning of a text, whole words and "...", as fits."""
    best, low, high = "", 0, len(text)
    while low <= high:
        middle = (low + high) // 2
        kept = text[:middle].rpartition(" ")[0] or text[:middle]
        prompt = query(kept + ELLIPSIS)
        if len(tokenizer.encode(prompt)) <= max_tokens:
            best, low = prompt, middle + 1
        else:
            high = middle - 1
    if not best:
        what = f"{max_tokens} tokens do not hold the prompt of an empty text"
        raise NightjarError(what, "rerank.max_tokens", "raise it")
    return best


def shared_prefix(lm: LanguageModel, rows: Sequence[Ids]) -> Prefix | None:
    """The longest beginning of all rows but for the last token of each, as the model leaves it; None if it is short.

    Raises NightjarError for an encoder-decoder.
    """
    causal_only(lm, "reranking")
    first = rows[0]
    shared = min(map(len, rows)) - 1
    for row in rows:
        differs = np.flatnonzero(first[:shared] != row[:shared])
        shared = int(differs[0]) if len(differs) else shared
    return prefill(lm, first[:shared].tolist()) if shared >= LEAST_SHARED else None


def embed(
    lm: LanguageModel, rows: Sequence[Ids], base: Prefix | None, batch_tokens: int
) -> NDArray[np.float32]:
    """Unit vectors of shape (len(rows), hidden size): the last hidden state at the last token of each row.

    All rows begin with the ids of `base`. Rows of similar length share a batch of at most `batch_tokens` tokens, cached
    ones included, or of one row; a vector does not depend on the rows beside it beyond rounding (1e-5 in float32).
    """
    shared = len(base.ids) if base else 0
    vectors = np.zeros((len(rows), int(lm.model.config.hidden_size)), np.float32)
    for batch in _batches([len(row) - shared for row in rows], shared, batch_tokens):
        vectors[batch] = _states(lm, [rows[place][shared:] for place in batch], base)
    return vectors


def _batches(lengths: Sequence[int], shared: int, batch_tokens: int) -> Iterator[list[int]]:
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * (shared + lengths[place]) > batch_tokens:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


@torch.inference_mode()
def _states(lm: LanguageModel, rows: Sequence[Ids], base: Prefix | None) -> NDArray[np.float32]:
    """One batch, padded at the end: in a causal model, what comes later changes nothing."""
    width = max(map(len, rows))
    ids = np.full((len(rows), width), lm.tokenizer.end, np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
    cache = base.cache(len(rows), len(base.ids)) if base else None
    states = lm.model.base_model(
        input_ids=torch.from_numpy(ids).to(lm.device), past_key_values=cache, use_cache=cache is not None
    ).last_hidden_state
    last = torch.tensor([len(row) - 1 for row in rows], device=lm.device)
    own = states[torch.arange(len(rows), device=lm.device), last].float()
    vectors: NDArray[np.float32] = torch.nn.functional.normalize(own, dim=1).cpu().numpy()
    return vectors


def reorder(
    question: NDArray[np.float32], candidates: NDArray[np.float32], places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The order of a question's candidates, and their scores in that order, which sum to 1.

    `candidates` are vectors of shape (any, size); `places` are the rows of the question's candidates, in the order
    that they have so far, which equal ones keep.
    """
    # Equal candidates must have equal products, to the last bit.
    unique, inverse = np.unique(places, return_inverse=True)
    products = (candidates[unique].astype(np.float64) @ question.astype(np.float64))[inverse]
    order = np.argsort(-products, kind="stable")
    weights = np.exp(products[order] - products.max(initial=-np.inf))
    return order, weights / weights.sum()
