"""Reranker: a language model compares a question with passages (PGRA, Guo et al. 2023).

Question and passages alike become prompts of the task. A text's vector is the model's last hidden state at the last
token of its prompt, after which the answer would come, of unit length. Passages are ordered by the dot product with the
question, and their scores are its softmax. All prompts of a task begin with the same demonstrations: that beginning
runs through the model once, and every text once, whatever number of questions it is a candidate of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from nightjar.core.errors import NightjarError
from nightjar.models.engine.forward_pass import last_states
from nightjar.models.engine.kv_cache import KVCache, KVPage, Prefix
from nightjar.models.engine.language_model import Engine, LanguageModel, causal_only
from nightjar.models.engine.plain_forward import plain_states
from nightjar.models.engine.shared_prefixes import LEAST_SHARED, prefill
from nightjar.models.tokenizer import Tokenizer, like_length

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

    The prefix is the first of `prefixes` with which a prompt of median length fits; the last one is empty. `query`
    makes the prompt of a text. A text whose prompt is too long with the prefix is cut at its end. (The published code
    cuts the end of the whole prompt instead, where the question is.)
    """
    lengths = [len(tokenizer.encode(query(text))) for text in texts]
    # One long text costs itself its end, not all others a demonstration.
    median = query(texts[int(np.argsort(lengths)[(len(lengths) - 1) // 2])]) if lengths else ""
    for left_out, prefix in enumerate(prefixes):
        last = left_out + 1 == len(prefixes)
        if not last and len(tokenizer.encode(prefix + median)) > max_tokens:
            continue
        rows, cut = [], []
        for place, text in enumerate(texts):
            ids = tokenizer.encode(prefix + query(text))
            if len(ids) > max_tokens:
                ids = _shortened(tokenizer, query, prefix, text, max_tokens)
                cut.append(place)
            rows.append(np.array(ids, np.int32))
        if all(map(len, rows)):
            return Prompts(rows, left_out, cut)
    what = f"{max_tokens} tokens do not hold the prompt of an empty text"
    raise NightjarError(what, "rerank.max_tokens", "raise it")


def _shortened(
    tokenizer: Tokenizer, query: Callable[[str], str], prefix: str, text: str, max_tokens: int
) -> list[int]:
    """The ids of the prompt of as much of the beginning of a text, whole words and "...", as fits; or none."""
    best: list[int] = []
    low, high = 0, len(text)
    while low <= high:
        middle = (low + high) // 2
        beginning = text[:middle].rpartition(" ")[0] or text[:middle]
        ids = tokenizer.encode(prefix + query(beginning + ELLIPSIS))
        if len(ids) <= max_tokens:
            best, low = ids, middle + 1
        else:
            high = middle - 1
    return best


def shared_prefix(lm: LanguageModel, rows: Sequence[Ids]) -> Prefix | None:
    """The longest beginning of all rows but for the last token of each, as the model leaves it; None if it is short."""
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
    # On the CPU it is faster to copy the beginning once for each row of a batch than for each row of all; a GPU is
    # faster with few large kernels.
    in_lines = lm.engine is Engine.ROWS and lm.device.type == "cpu"
    read: _Lines | _Padded | _Plain
    read = _Plain(lm, base) if lm.engine.alone else (_Lines if in_lines else _Padded)(lm, base)
    for batch in like_length([len(row) for row in rows], batch_tokens):
        row_states = read([rows[place][shared:] for place in batch])
        vectors[batch] = torch.nn.functional.normalize(row_states, dim=1).cpu().numpy()
    return vectors


class _Lines:
    """Batches as rows of a pool, which keep the shared beginning from one batch to the next."""

    def __init__(self, lm: LanguageModel, base: Prefix | None) -> None:
        self._lm, self._base, self._pool = lm, base, KVCache()
        self._segments: list[KVPage] = []

    def __call__(self, rows: Sequence[Ids]) -> torch.Tensor:
        shared = len(self._base.ids) if self._base else 0
        while len(self._segments) < len(rows):
            self._segments.append(segment := self._pool.take(shared + max(map(len, rows))))
            if self._base:
                self._pool.load(segment, self._base, shared)
        reads = [(segment, row.tolist()) for segment, row in zip(self._segments, rows, strict=False)]
        return last_states(self._lm, self._pool, reads)


class _Plain:
    """Whole texts, one after another."""

    def __init__(self, lm: LanguageModel, base: Prefix | None) -> None:
        self._lm, self._ids = lm, base.ids if base else []

    def __call__(self, rows: Sequence[Ids]) -> torch.Tensor:
        return torch.stack([plain_states(self._lm.model, [*self._ids, *row.tolist()])[-1] for row in rows])


class _Padded:
    """Batches padded at the end: in a causal model, what comes later changes nothing."""

    def __init__(self, lm: LanguageModel, base: Prefix | None) -> None:
        self._lm, self._base = lm, base

    @torch.inference_mode()
    def __call__(self, rows: Sequence[Ids]) -> torch.Tensor:
        ids = np.full((len(rows), max(map(len, rows))), self._lm.tokenizer.end, np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
        base, device = self._base, self._lm.device
        cache = base.cache(len(rows), len(base.ids)) if base else None
        hidden_states = self._lm.model.base_model(
            input_ids=torch.from_numpy(ids).to(device), past_key_values=cache, use_cache=cache is not None
        ).last_hidden_state
        last = torch.tensor([len(row) - 1 for row in rows], device=device)
        last_states: torch.Tensor = hidden_states[torch.arange(len(rows), device=device), last].float()
        return last_states


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
