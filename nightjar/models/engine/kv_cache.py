"""The KV cache: keys and values of many sequences of unlike lengths, without padding, and those of a prefix."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from transformers import DynamicCache

from nightjar.models.engine.plain_forward import ModelCache

# Columns added to a page that needs more than it has.
SPARE_COLUMNS = 64


@dataclass(eq=False)
class KVPage:
    """The columns of one sequence in a KV cache: `room` of them from `start` on, the first `length` of them in use.

    `ids` are the tokens in the columns; those from `length` on do not count. `model_cache` is for a sequence that is
    read alone.
    """

    start: int
    room: int
    length: int = 0
    ids: list[int] = field(default_factory=list)
    model_cache: ModelCache = field(default_factory=ModelCache)


# The pages that a pass reads, each with its new ids.
Reads = Sequence[tuple[KVPage, Sequence[int]]]


@dataclass(frozen=True)
class Prefix:
    """Token ids and the keys and values the model computed for them, one (1, heads, length, size) pair a layer.

    A model that reads sequences alone has no layers here.
    """

    ids: list[int]
    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]

    def cache(self, rows: int, length: int) -> DynamicCache:
        """Make a new cache of the first `length` tokens for a batch of `rows`; the prefix stays as it is."""
        cache = DynamicCache()
        for layer, (keys, values) in enumerate(self.layers):
            cache.update(
                keys[:, :, :length].expand(rows, -1, -1, -1).contiguous(),
                values[:, :, :length].expand(rows, -1, -1, -1).contiguous(),
                layer,
            )
        return cache


@dataclass
class KVCache:
    """Keys and values of many sequences: one (heads, columns, size) tensor of each a layer, a page a sequence.

    They have the model's precision. `most_columns`: beyond it, the cache grows only by the columns that pages need.
    """

    most_columns: int | None = None
    keys: list[torch.Tensor] = field(default_factory=list)
    values: list[torch.Tensor] = field(default_factory=list)
    pages: list[KVPage] = field(default_factory=list)
    columns: int = 0

    def take(self, room: int) -> KVPage:
        """Make a page with room for so many tokens, in the first gap that is wide enough."""
        start, place = self._gap(room)
        page = KVPage(start, room)
        self.pages.insert(place, page)
        if start + room > self.columns:
            # Half as much again, so that many small pages do not copy the cache many times.
            larger = self.columns * 3 // 2
            if self.most_columns is not None:
                larger = min(larger, self.most_columns)
            self.columns = max(start + room, larger)
        return page

    def fits(self, room: int) -> bool:
        """Return True if a new page with room for so many tokens leaves the cache within `most_columns`."""
        return self.most_columns is None or self._gap(room)[0] + room <= self.most_columns

    def _gap(self, room: int) -> tuple[int, int]:
        """Find the start of the first gap that is wide enough, and its place among the pages."""
        start = place = 0
        for page in self.pages:
            if page.start - start >= room:
                break
            start, place = page.start + page.room, place + 1
        return start, place

    def free(self, page: KVPage) -> None:
        self.pages.remove(page)

    def reserve(self, page: KVPage, count: int) -> None:
        """Make room for `count` tokens behind those in use; the page moves if it has to."""
        if page.length + count <= page.room:
            return
        wider = self.take(page.length + count + SPARE_COLUMNS)
        for layer in range(len(self.keys)):
            for tensor in (self._layer(self.keys, layer), self._layer(self.values, layer)):
                used = tensor.narrow(1, page.start, page.length)
                tensor.narrow(1, wider.start, page.length).copy_(used)
        self.pages.remove(page)
        page.start, page.room = wider.start, wider.room
        self.pages[self.pages.index(wider)] = page

    @torch.inference_mode()
    def copy(self, pairs: Sequence[tuple[KVPage, KVPage]]) -> None:
        """Begin pages with all that other pages have: pairs (source, target)."""
        old_columns = [source.start + place for source, _ in pairs for place in range(source.length)]
        new_columns = [target.start + place for source, target in pairs for place in range(source.length)]
        if old_columns and self.keys:
            old, new = torch.tensor([old_columns, new_columns], device=self.keys[0].device)
            for layer in range(len(self.keys)):
                for tensor in (self._layer(self.keys, layer), self._layer(self.values, layer)):
                    tensor.index_copy_(1, new, tensor.index_select(1, old))
        for source, target in pairs:
            target.length, target.ids = source.length, source.ids[: source.length]
            target.model_cache = deepcopy(source.model_cache)

    @torch.inference_mode()
    def load(self, page: KVPage, prefix: Prefix, length: int) -> None:
        """Begin a page with the first `length` tokens of `prefix`."""
        for layer, (keys, values) in enumerate(prefix.layers):
            for tensors, new in ((self.keys, keys), (self.values, values)):
                tensor = self._layer(tensors, layer, new[0])
                tensor.narrow(1, page.start, length).copy_(new[0, :, :length])
        page.length, page.ids = length, prefix.ids[:length]

    def write(
        self, layer: int, columns: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write (heads, tokens, size) keys and values of a layer; returns the layer's tensors."""
        tensors = self._layer(self.keys, layer, keys), self._layer(self.values, layer, values)
        for tensor, new in zip(tensors, (keys, values), strict=True):
            tensor.index_copy_(1, columns, new)
        return tensors

    def _layer(
        self, tensors: list[torch.Tensor], layer: int, like: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the tensor of a layer, as wide as the cache is now; the first one is made like `like`."""
        if layer == len(tensors):
            assert like is not None
            tensors.append(like.new_empty(like.shape[0], 0, like.shape[2]))
        old = tensors[layer]
        if old.shape[1] < self.columns:
            tensors[layer] = old.new_empty(old.shape[0], self.columns, old.shape[2])
            tensors[layer][:, : old.shape[1]] = old
        return tensors[layer]
