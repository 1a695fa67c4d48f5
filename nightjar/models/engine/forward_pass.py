"""Forward passes over sequences of any lengths, without padding: every sequence has its own keys and values.

The tokens of all sequences are packed one after another for the matrix products, which read the weights once a pass
whatever the sequences are: one token of each text that is being written, a whole prompt, the result of a tool. Only
attention looks at the sequences separately. So nothing is computed or read for padding, a sequence enters or leaves at
no cost, and what it computes does not depend on the others, on the CPU to the last bit (`MULTIPLE`).

A model that does not give its own logits this way (GPT-J, BLOOM, Falcon) gets the sequences as a padded batch, with the
same keys and values. One that does not give them in a batch either (Mamba) reads each sequence alone by its own
forward, with its own cache, or without one if that changes what it gives. `equality` decides it when the model is
loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from nightjar.models.engine.kv_cache import KVCache, Reads
from nightjar.models.engine.language_model import Engine, LanguageModel
from nightjar.models.engine.packed_attention import MULTIPLE, SEQUENCES, PackedSequences, PassCache
from nightjar.models.engine.plain_forward import cached_logits, plain_logits

# Tokens of prompts in a pass: enough for fast matrix products, few enough for the processor's caches.
PASS = 512


@torch.inference_mode()
def advance(lm: LanguageModel, cache: KVCache, reads: Reads) -> torch.Tensor:
    """Read the new ids (at least one) of each page in one pass; return the (pages, vocabulary) logits, in float32."""
    for page, ids in reads:
        cache.reserve(page, len(ids))
        page.ids[page.length :] = ids
    if lm.engine is Engine.PLAIN:
        logits = torch.cat([plain_logits(lm.model, page.ids, 1) for page, _ in reads])
    elif lm.engine is Engine.CACHED:
        logits = torch.cat([cached_logits(lm.model, page.ids, page.model_cache) for page, _ in reads])
    else:
        logits = (_packed_logits if lm.engine is Engine.ROWS else _padded_logits)(lm, cache, reads)
    for page, ids in reads:
        page.length += len(ids)
    return logits


@torch.inference_mode()
def logits_at(lm: LanguageModel, rows: Sequence[Sequence[int]], places: Sequence[int]) -> torch.Tensor:
    """Return the logits behind ascending places of texts that share a pass: (rows, places, vocabulary).

    Logits behind a place that a row has not mean nothing.
    """
    columns = torch.tensor(places, device=lm.device)
    if lm.engine.alone:
        return torch.stack([plain_logits(lm.model, row)[columns.clamp(max=len(row) - 1)] for row in rows])
    # Padding is behind the tokens, where no token sees it: no mask is needed.
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[lm.tokenizer.end] * (width - len(row))] for row in rows], device=lm.device)
    logits: torch.Tensor = lm.model(input_ids=ids, use_cache=False, logits_to_keep=columns).logits
    # Some models know no places and give the logits behind all of them.
    return logits if logits.shape[1] == len(places) else logits[:, columns]


@torch.inference_mode()
def last_states(lm: LanguageModel, cache: KVCache, reads: Reads) -> torch.Tensor:
    """Return the last hidden state at the last new id of each page, (pages, hidden size) in float32.

    The pages themselves remain as they were, to be read with other ids. Only for a model that reads packed sequences.
    """
    for page, ids in reads:
        cache.reserve(page, len(ids))
    arguments, last_places = _pack(lm, cache, reads)
    states: torch.Tensor = lm.model.base_model(**arguments).last_hidden_state[0, last_places].float()
    return states


def _columns(reads: Reads) -> list[int]:
    """List the columns that the new ids will be in, page after page."""
    columns: list[int] = []
    for page, ids in reads:
        start = page.start + page.length
        columns += range(start, start + len(ids))
    return columns


def _packed_logits(lm: LanguageModel, cache: KVCache, reads: Reads) -> torch.Tensor:
    arguments, last_places = _pack(lm, cache, reads)
    last_places += last_places[-1:] * (-len(reads) % MULTIPLE)
    result = lm.model(**arguments, logits_to_keep=torch.tensor(last_places, device=lm.device))
    logits: torch.Tensor = result.logits[0, : len(reads)].float()
    return logits


def _pack(lm: LanguageModel, cache: KVCache, reads: Reads) -> tuple[dict[str, Any], list[int]]:
    """Return the model's arguments for the new ids of all pages, packed, and the place of each page's last id."""
    packed_ids = [id for _, ids in reads for id in ids]
    positions = [page.length + place for page, ids in reads for place in range(len(ids))]
    fill = -len(packed_ids) % MULTIPLE
    last_places, count = [], 0
    for _, ids in reads:
        count += len(ids)
        last_places.append(count - 1)
    sequences = PackedSequences(cache, reads, torch.tensor(_columns(reads), device=lm.device))
    arguments = {
        "input_ids": torch.tensor([packed_ids + [lm.tokenizer.end] * fill], device=lm.device),
        "position_ids": torch.tensor([positions + [0] * fill], device=lm.device),
        "past_key_values": sequences,
        "use_cache": True,
        SEQUENCES: sequences,
    }
    return arguments, last_places


class _PaddedSequences(PassCache):
    """The sequences of a pass as a batch, each padded at its beginning."""

    def __init__(
        self, cache: KVCache, written: tuple[torch.Tensor, ...], visible: torch.Tensor, width: int
    ) -> None:
        super().__init__(visible.shape[1] - width, visible.shape[1])
        self.kv_cache, self.written, self.visible = cache, written, visible

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        columns, row, place = self.written
        new_states = (states[row, :, place].transpose(0, 1) for states in (key_states, value_states))
        keys, values = self.kv_cache.write(layer_idx, columns, *new_states)
        return keys[:, self.visible].transpose(0, 1), values[:, self.visible].transpose(0, 1)


def _padded_logits(lm: LanguageModel, cache: KVCache, reads: Reads) -> torch.Tensor:
    width = max(len(ids) for _, ids in reads)
    longest = max(page.length + len(ids) for page, ids in reads)
    padded_ids, visible, mask = [], [], []
    row: list[int] = []
    place: list[int] = []
    for number, (page, ids) in enumerate(reads):
        length = page.length + len(ids)
        padded_ids.append([lm.tokenizer.end] * (width - len(ids)) + list(ids))
        visible.append([page.start] * (longest - length) + list(range(page.start, page.start + length)))
        mask.append([0] * (longest - length) + [1] * length)
        row += [number] * len(ids)
        place += range(width - len(ids), width)
    written = tuple(torch.tensor(indices, device=lm.device) for indices in (_columns(reads), row, place))
    attention_mask = torch.tensor(mask, device=lm.device)
    result = lm.model(
        input_ids=torch.tensor(padded_ids, device=lm.device),
        attention_mask=attention_mask,
        position_ids=(attention_mask.cumsum(1) - 1).clamp(min=0)[:, -width:],
        past_key_values=_PaddedSequences(cache, written, torch.tensor(visible, device=lm.device), width),
        use_cache=True,
        logits_to_keep=1,
    )
    logits: torch.Tensor = result.logits[:, -1].float()
    return logits
