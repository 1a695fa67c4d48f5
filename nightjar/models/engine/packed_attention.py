"""Attention over packed sequences: their tokens one after another in a pass, each with its own keys and values."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.attention.flex_attention import BlockMask
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, DynamicCache
from transformers.integrations.flex_attention import flex_attention_forward
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from nightjar.models.engine.kv_cache import KVCache, Reads

# The name of this attention in transformers, and of the argument that has the sequences of a pass.
ATTENTION = SEQUENCES = "nightjar_rows"
# A pass has a multiple of so many tokens. Products of fewer rows use other kernels on x86, which sum in another order:
# a sequence would depend, in the last bits, on how many are beside it.
MULTIPLE = 8


class PassCache(DynamicCache):
    """The part of a cache, beside `update`, that transformers asks when it makes a mask."""

    is_compileable = False

    def __init__(self, before: int, width: int) -> None:
        super().__init__()
        self.before, self.width = before, width

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.before

    def get_query_offset(self, layer_idx: int = 0) -> int:
        return self.before

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.width, 0


class PackedSequences(PassCache):
    """The sequences of a pass, their tokens one after another, and attention over them."""

    def __init__(self, cache: KVCache, reads: Reads, columns: torch.Tensor) -> None:
        tokens = len(columns)
        super().__init__(0, tokens + -tokens % MULTIPLE)
        self.kv_cache, self.columns = cache, columns
        self.spans = [(page.start, page.length, len(ids)) for page, ids in reads]
        # A token sees itself and what is before it in its sequence. With nothing before, attention knows that itself.
        self.masks = [
            torch.ones(count, before + count, dtype=torch.bool, device=columns.device).tril(before)
            if before and count > 1
            else None
            for _, before, count in self.spans
        ]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        count = len(self.columns)
        self.kv_cache.write(layer_idx, self.columns, key_states[0, :, :count], value_states[0, :, :count])
        return key_states, value_states

    def attend(self, layer: int, query: torch.Tensor, scale: float | None) -> torch.Tensor:
        """Compute (1, tokens, heads, size) from the (1, heads, tokens, size) queries of the pass."""
        keys, values = self.kv_cache.keys[layer], self.kv_cache.values[layer]
        _, heads, tokens, size = query.shape
        groups = heads // keys.shape[0]
        # Several heads may share keys and values (grouped queries); these are not repeated in memory.
        by_token = query[0].transpose(0, 1).reshape(tokens, 1, -1, groups, size).unbind(0)
        by_head = query[0].view(keys.shape[0], groups, tokens, size)
        outputs, place = [], 0
        for (start, before, count), mask in zip(self.spans, self.masks, strict=True):
            page_keys = keys.narrow(1, start, before + count)
            page_values = values.narrow(1, start, before + count)
            if count == 1:
                single = scaled_dot_product_attention(
                    by_token[place], page_keys[None], page_values[None], scale=scale
                )
                outputs.append(single.view(1, heads, size))
            else:
                several = scaled_dot_product_attention(
                    by_head[:, :, place : place + count],
                    page_keys[:, None].expand(-1, groups, -1, -1),
                    page_values[:, None].expand(-1, groups, -1, -1),
                    attn_mask=mask,
                    is_causal=mask is None,
                    scale=scale,
                )
                outputs.append(several.reshape(heads, count, size).transpose(0, 1))
            place += count
        outputs.append(query.new_zeros(tokens - place, heads, size))
        return torch.cat(outputs)[None]


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | BlockMask | None,
    **arguments: Any,
) -> tuple[torch.Tensor, None]:
    """Attend for transformers' AttentionInterface: over packed sequences, by blocks, or else as `sdpa`."""
    sequences: PackedSequences | None = arguments.pop(SEQUENCES, None)
    if isinstance(attention_mask, BlockMask):
        return flex_attention_forward(module, query, key, value, attention_mask, **arguments)[0], None
    if sequences is None:
        usual: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, **arguments
        )
        return usual
    if any(
        arguments.get(name) is not None for name in ("sliding_window", "softcap", "s_aux", "position_bias")
    ):
        raise ValueError("attention that is more than a softmax over what is before")
    return sequences.attend(int(module.layer_idx), query, arguments.get("scaling")), None  # type: ignore[arg-type]


AttentionInterface.register(ATTENTION, packed_attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)
