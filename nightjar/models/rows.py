"""Forward passes over rows of any lengths, without padding: every row has its own keys and values.

The tokens of all rows form one line for the matrix products, which read the weights once a pass whatever the rows are:
one token of each text that is being written, a whole prompt, the result of a tool. Only attention looks at the rows
separately. So nothing is computed or read for padding, a row enters or leaves at no cost, and what a row computes does
not depend on the others, on the CPU to the last bit (`MULTIPLE`).

A model that does not give its own logits this way (GPT-J, BLOOM, Falcon) gets the rows as a padded batch, with the same
keys and values. One that does not give them in a batch either (Mamba) reads each row alone by its own forward, with its
own cache, or without one if that changes what it gives.
`equality` finds out when the model is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.attention.flex_attention import BlockMask
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, DynamicCache
from transformers.integrations.flex_attention import flex_attention_forward
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from nightjar.models.plain import OwnCache, cached_logits, plain_logits

if TYPE_CHECKING:
    from nightjar.models.forward import Prefix
    from nightjar.models.load import LanguageModel

# The name of the attention below in transformers, and of the argument that has the rows of a pass.
ATTENTION = ROWS = "nightjar_rows"
# A pass has a multiple of so many tokens. Products of fewer rows use other kernels on x86, which sum in another order:
# a row would depend, in the last bits, on how many are beside it.
MULTIPLE = 8
# Tokens of prompts in a pass: enough for fast matrix products, few enough for the processor's caches.
PASS = 512
# Columns added to a row that needs more than it has.
MORE = 64


class Engine(StrEnum):
    """The way in which a model reads rows: in one line, as a padded batch, or each by the model's own forward, with
    or without its own cache."""

    ROWS = "rows"
    PADDED = "padded"
    CACHED = "cached"
    PLAIN = "plain"

    @property
    def alone(self) -> bool:
        """True if sequences share no pass."""
        return self in (Engine.CACHED, Engine.PLAIN)


@dataclass(eq=False)
class Segment:
    """A row's columns in a pool: `room` of them from `start` on, the first `length` of them in use.

    `ids` are the tokens in the columns; those from `length` on do not count. `cache` is for a row that is read alone.
    """

    start: int
    room: int
    length: int = 0
    ids: list[int] = field(default_factory=list)
    cache: OwnCache = field(default_factory=OwnCache)


@dataclass
class Pool:
    """Keys and values of many rows: one (heads, columns, size) tensor of each a layer, a run of columns a row.

    They have the model's precision. `most_columns`: with more columns than this the pool has only those that rows need.
    """

    most_columns: int | None = None
    keys: list[torch.Tensor] = field(default_factory=list)
    values: list[torch.Tensor] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    columns: int = 0

    def take(self, room: int) -> Segment:
        """A new row with room for so many tokens, in the first gap that is wide enough."""
        start, place = self._gap(room)
        segment = Segment(start, room)
        self.segments.insert(place, segment)
        if start + room > self.columns:
            # Half as much again, so that many small rows do not copy the pool many times.
            more = self.columns * 3 // 2
            self.columns = max(
                start + room, more if self.most_columns is None else min(more, self.most_columns)
            )
        return segment

    def fits(self, room: int) -> bool:
        """Return True if a new row with room for so many tokens leaves the pool within `most_columns`."""
        return self.most_columns is None or self._gap(room)[0] + room <= self.most_columns

    def _gap(self, room: int) -> tuple[int, int]:
        """The start of the first gap that is wide enough, and its place among the segments."""
        start = place = 0
        for segment in self.segments:
            if segment.start - start >= room:
                break
            start, place = segment.start + segment.room, place + 1
        return start, place

    def free(self, segment: Segment) -> None:
        self.segments.remove(segment)

    def reserve(self, segment: Segment, more: int) -> None:
        """Make room for `more` tokens behind those in use; the row moves if it has to."""
        if segment.length + more <= segment.room:
            return
        wider = self.take(segment.length + more + MORE)
        for layer in range(len(self.keys)):
            for part in (self._part(self.keys, layer), self._part(self.values, layer)):
                used = part.narrow(1, segment.start, segment.length)
                part.narrow(1, wider.start, segment.length).copy_(used)
        self.segments.remove(segment)
        segment.start, segment.room = wider.start, wider.room
        self.segments[self.segments.index(wider)] = segment

    @torch.inference_mode()
    def copy(self, rows: Sequence[tuple[Segment, Segment]]) -> None:
        """Begin rows with all that other rows have read: pairs (from, to) of segments."""
        old_columns = [source.start + place for source, _ in rows for place in range(source.length)]
        new_columns = [target.start + place for source, target in rows for place in range(source.length)]
        if old_columns and self.keys:
            old, new = torch.tensor([old_columns, new_columns], device=self.keys[0].device)
            for layer in range(len(self.keys)):
                for part in (self._part(self.keys, layer), self._part(self.values, layer)):
                    part.index_copy_(1, new, part.index_select(1, old))
        for source, target in rows:
            target.length, target.ids = source.length, source.ids[: source.length]
            target.cache = deepcopy(source.cache)

    @torch.inference_mode()
    def load(self, segment: Segment, prefix: Prefix, length: int) -> None:
        """Begin the row with the first `length` tokens of `prefix`."""
        for layer, (keys, values) in enumerate(prefix.layers):
            for parts, new in ((self.keys, keys), (self.values, values)):
                part = self._part(parts, layer, new[0])
                part.narrow(1, segment.start, length).copy_(new[0, :, :length])
        segment.length, segment.ids = length, prefix.ids[:length]

    def write(
        self, layer: int, columns: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write (heads, tokens, size) keys and values of a layer; returns the layer's tensors."""
        layer_parts = self._part(self.keys, layer, keys), self._part(self.values, layer, values)
        for part, new in zip(layer_parts, (keys, values), strict=True):
            part.index_copy_(1, columns, new)
        return layer_parts

    def _part(self, parts: list[torch.Tensor], layer: int, like: torch.Tensor | None = None) -> torch.Tensor:
        """The tensor of a layer, made like `like` if it is the first, as wide as the pool is now."""
        if layer == len(parts):
            assert like is not None
            parts.append(like.new_empty(like.shape[0], 0, like.shape[2]))
        old = parts[layer]
        if old.shape[1] < self.columns:
            parts[layer] = old.new_empty(old.shape[0], self.columns, old.shape[2])
            parts[layer][:, : old.shape[1]] = old
        return parts[layer]


@torch.inference_mode()
def advance(lm: LanguageModel, pool: Pool, reads: Sequence[tuple[Segment, Sequence[int]]]) -> torch.Tensor:
    """Read more ids (at least one) of each row, in one pass; the (rows, vocabulary) logits that follow, in float32."""
    for segment, ids in reads:
        pool.reserve(segment, len(ids))
        segment.ids[segment.length :] = ids
    if lm.engine is Engine.PLAIN:
        logits = torch.cat([plain_logits(lm.model, segment.ids, 1) for segment, _ in reads])
    elif lm.engine is Engine.CACHED:
        logits = torch.cat([cached_logits(lm.model, segment.ids, segment.cache) for segment, _ in reads])
    else:
        logits = (_in_one_line if lm.engine is Engine.ROWS else _padded)(lm, pool, reads)
    for segment, ids in reads:
        segment.length += len(ids)
    return logits


@torch.inference_mode()
def logits_at(lm: LanguageModel, rows: Sequence[Sequence[int]], places: Sequence[int]) -> torch.Tensor:
    """The logits behind these places, in ascending order, of texts that share a pass: (rows, places, vocabulary).

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


def _columns(reads: Sequence[tuple[Segment, Sequence[int]]]) -> list[int]:
    """The columns that the ids will be in, row after row."""
    columns: list[int] = []
    for segment, ids in reads:
        begin = segment.start + segment.length
        columns += range(begin, begin + len(ids))
    return columns


def _in_one_line(
    lm: LanguageModel, pool: Pool, reads: Sequence[tuple[Segment, Sequence[int]]]
) -> torch.Tensor:
    arguments, ends = _line(lm, pool, reads)
    ends += ends[-1:] * (-len(reads) % MULTIPLE)
    result = lm.model(**arguments, logits_to_keep=torch.tensor(ends, device=lm.device))
    logits: torch.Tensor = result.logits[0, : len(reads)].float()
    return logits


@torch.inference_mode()
def states(lm: LanguageModel, pool: Pool, reads: Sequence[tuple[Segment, Sequence[int]]]) -> torch.Tensor:
    """The last hidden state at the last of the ids that follow each row, (rows, hidden size) in float32.

    The rows themselves remain as they were, to be read with other ids. Only for a model that reads rows in one line.
    """
    for segment, ids in reads:
        pool.reserve(segment, len(ids))
    arguments, ends = _line(lm, pool, reads)
    hidden: torch.Tensor = lm.model.base_model(**arguments).last_hidden_state[0, ends].float()
    return hidden


def _line(
    lm: LanguageModel, pool: Pool, reads: Sequence[tuple[Segment, Sequence[int]]]
) -> tuple[dict[str, Any], list[int]]:
    """The model's arguments for the ids of all rows in one line, and where each row's last id is in it."""
    ids = [id for _, row_ids in reads for id in row_ids]
    positions = [segment.length + place for segment, row_ids in reads for place in range(len(row_ids))]
    fill = -len(ids) % MULTIPLE
    ends, end = [], 0
    for _, row_ids in reads:
        end += len(row_ids)
        ends.append(end - 1)
    line = _Line(pool, reads, torch.tensor(_columns(reads), device=lm.device))
    arguments = {
        "input_ids": torch.tensor([ids + [lm.tokenizer.end] * fill], device=lm.device),
        "position_ids": torch.tensor([positions + [0] * fill], device=lm.device),
        "past_key_values": line,
        "use_cache": True,
        ROWS: line,
    }
    return arguments, ends


class _Cache(DynamicCache):
    """The part of a cache that transformers asks when it makes a mask."""

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


class _Line(_Cache):
    """The rows of a pass, their tokens one after another, and attention over them."""

    def __init__(
        self, pool: Pool, reads: Sequence[tuple[Segment, Sequence[int]]], columns: torch.Tensor
    ) -> None:
        tokens = len(columns)
        super().__init__(0, tokens + -tokens % MULTIPLE)
        self.pool, self.columns = pool, columns
        self.rows = [(segment.start, segment.length, len(ids)) for segment, ids in reads]
        # A token sees itself and what is before it in its row. With nothing before, attention knows that itself.
        self.masks = [
            torch.ones(count, before + count, dtype=torch.bool, device=columns.device).tril(before)
            if before and count > 1
            else None
            for _, before, count in self.rows
        ]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        count = len(self.columns)
        self.pool.write(layer_idx, self.columns, key_states[0, :, :count], value_states[0, :, :count])
        return key_states, value_states

    def attend(self, layer: int, query: torch.Tensor, scale: float | None) -> torch.Tensor:
        """(1, tokens, heads, size) from the (1, heads, tokens, size) queries of the pass."""
        keys, values = self.pool.keys[layer], self.pool.values[layer]
        _, heads, tokens, size = query.shape
        groups = heads // keys.shape[0]
        # Several heads may share keys and values (grouped queries); these are not repeated in memory.
        by_token = query[0].transpose(0, 1).reshape(tokens, 1, -1, groups, size).unbind(0)
        by_head = query[0].view(keys.shape[0], groups, tokens, size)
        outputs, place = [], 0
        for (start, before, count), mask in zip(self.rows, self.masks, strict=True):
            row_keys = keys.narrow(1, start, before + count)
            row_values = values.narrow(1, start, before + count)
            if count == 1:
                single = scaled_dot_product_attention(
                    by_token[place], row_keys[None], row_values[None], scale=scale
                )
                outputs.append(single.view(1, heads, size))
            else:
                several = scaled_dot_product_attention(
                    by_head[:, :, place : place + count],
                    row_keys[:, None].expand(-1, groups, -1, -1),
                    row_values[:, None].expand(-1, groups, -1, -1),
                    attn_mask=mask,
                    is_causal=mask is None,
                    scale=scale,
                )
                outputs.append(several.reshape(heads, count, size).transpose(0, 1))
            place += count
        outputs.append(query.new_zeros(tokens - place, heads, size))
        return torch.cat(outputs)[None]


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | BlockMask | None,
    **arguments: Any,
) -> tuple[torch.Tensor, None]:
    """Attention for transformers' AttentionInterface: over the rows of a pass, by blocks, or else as `sdpa`."""
    line: _Line | None = arguments.pop(ROWS, None)
    if isinstance(attention_mask, BlockMask):
        return flex_attention_forward(module, query, key, value, attention_mask, **arguments)[0], None
    if line is None:
        usual: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, **arguments
        )
        return usual
    if any(
        arguments.get(name) is not None for name in ("sliding_window", "softcap", "s_aux", "position_bias")
    ):
        raise ValueError("attention that is more than a softmax over what is before")
    return line.attend(int(module.layer_idx), query, arguments.get("scaling")), None  # type: ignore[arg-type]


AttentionInterface.register(ATTENTION, attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)


class _Padded(_Cache):
    """The rows of a pass as a batch, each padded at its beginning."""

    def __init__(
        self, pool: Pool, written: tuple[torch.Tensor, ...], visible: torch.Tensor, width: int
    ) -> None:
        super().__init__(visible.shape[1] - width, visible.shape[1])
        self.pool, self.written, self.seen = pool, written, visible

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        columns, row, place = self.written
        new_states = (part[row, :, place].transpose(0, 1) for part in (key_states, value_states))
        keys, values = self.pool.write(layer_idx, columns, *new_states)
        return keys[:, self.seen].transpose(0, 1), values[:, self.seen].transpose(0, 1)


def _padded(lm: LanguageModel, pool: Pool, reads: Sequence[tuple[Segment, Sequence[int]]]) -> torch.Tensor:
    width = max(len(ids) for _, ids in reads)
    longest = max(segment.length + len(ids) for segment, ids in reads)
    ids, visible, mask = [], [], []
    row: list[int] = []
    place: list[int] = []
    for number, (segment, row_ids) in enumerate(reads):
        length = segment.length + len(row_ids)
        ids.append([lm.tokenizer.end] * (width - len(row_ids)) + list(row_ids))
        visible.append(
            [segment.start] * (longest - length) + list(range(segment.start, segment.start + length))
        )
        mask.append([0] * (longest - length) + [1] * length)
        row += [number] * len(row_ids)
        place += range(width - len(row_ids), width)
    written = tuple(torch.tensor(part, device=lm.device) for part in (_columns(reads), row, place))
    seeing = torch.tensor(mask, device=lm.device)
    result = lm.model(
        input_ids=torch.tensor(ids, device=lm.device),
        attention_mask=seeing,
        position_ids=(seeing.cumsum(1) - 1).clamp(min=0)[:, -width:],
        past_key_values=_Padded(pool, written, torch.tensor(visible, device=lm.device), width),
        use_cache=True,
        logits_to_keep=1,
    )
    logits: torch.Tensor = result.logits[:, -1].float()
    return logits
