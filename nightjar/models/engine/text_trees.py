"""Trees of samples that begin at many places of several texts, computed once while they have the same tokens.

The keys and values of all that was read are one sequence: those of the prefix that the texts share, then those of each
text, then those of the tokens that were sampled. Samples with the same tokens so far share them: they are a node, and a
node is one column. A mask lets every token see its own ancestors alone, so that it is computed as in a text of its own.
`sample_trees` is for many samples of each prompt: its nodes have pages of their own, and need no mask.

Some models do not follow such a mask: windows of attention end at a column and not at a token, BLOOM and MPT have
positions of columns, and Mamba has no attention. Their nodes are read as texts, each from its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any
from weakref import WeakKeyDictionary

import torch
from transformers import DynamicCache

from nightjar.models.engine.equality import TEXT, attention_windows, in_float32, nearly_equal
from nightjar.models.engine.forward_pass import PASS, logits_at
from nightjar.models.engine.kv_cache import Prefix
from nightjar.models.engine.language_model import Engine, LanguageModel, causal_only
from nightjar.models.engine.plain_forward import plain_logits
from nightjar.models.engine.shared_prefixes import common_length

# Nodes of one forward pass: bounds the memory of their logits.
MOST_NODES = 256
# Tokens of samples that grow together, at their longest: bounds the memory of their keys and values. One token of GPT-J
# takes 0.46 MB in bfloat16; without a bound, 8 texts with 200 samples each of 64 tokens take 47 GB.
MOST_SAMPLED = 16_384


@dataclass(frozen=True)
class SampleStart:
    """The place where samples begin: behind the first `length` ids of the row numbered `row`. One sample a seed."""

    row: int
    length: int
    seeds: Sequence[str]


@dataclass(frozen=True)
class SampledText:
    """A sampled text up to its stop string, which is not part of it; `stopped`: whether it came to one."""

    text: str
    stopped: bool


class TextTrees:
    """Rows of ids as the model has read them, from which samples grow.

    `base`: a prefix that the rows may begin with; it is used as far as all of them do. A pass of the model has at most
    `most_nodes` nodes.
    """

    @torch.inference_mode()
    def __init__(
        self,
        lm: LanguageModel,
        rows: Sequence[tuple[Sequence[int], Sequence[int]]],
        base: Prefix | None,
        most_nodes: int = MOST_NODES,
    ) -> None:
        """`rows`: pairs (context, text) of ids, each at least one."""
        causal_only(lm, "sampling")
        self.lm, self._most_nodes = lm, most_nodes
        # Nothing is predicted from the last id.
        read = [[*context, *text[:-1]] for context, text in rows]
        begin = [len(context) - 1 for context, _ in rows]
        self._rows = [[*context, *text] for context, text in rows]
        if lm.engine.alone:
            self._logits = [
                plain_logits(lm.model, ids)[first:] for ids, first in zip(read, begin, strict=True)
            ]
            return
        shared = min(common_length([*read, base.ids]), *begin) if base else 0
        width = max(map(len, read)) - shared
        # Padding is behind the tokens, where no token sees it.
        padded = [row[shared:] + [lm.tokenizer.end] * (width + shared - len(row)) for row in read]
        cache: Any = base.cache(len(read), shared) if base and shared else DynamicCache()
        first = min(begin)
        result = lm.model(
            input_ids=torch.tensor(padded, device=lm.device),
            position_ids=torch.arange(shared, shared + width, device=lm.device).expand(len(read), -1),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=torch.arange(first - shared, width, device=lm.device),
        )
        # Some models know no places and give the logits behind all of them.
        logits = result.logits[:, first - shared - width :]
        self.shared, self.lengths = shared, [len(row) for row in read]
        # Of each row, the logits that precede the tokens of its text: (tokens, vocabulary).
        self._logits = [
            logits[row, begin[row] - first : self.lengths[row] - first] for row in range(len(read))
        ]
        self._cache: Any = DynamicCache()
        for number, layer in enumerate(cache.layers):
            keys, values = (
                torch.cat([part[:1, :, :shared], *_row_columns(part, shared, self.lengths)], dim=2)
                for part in (layer.keys, layer.values)
            )
            self._cache.update(keys, values, number)
            layer.keys = layer.values = None  # a layer at a time stands in memory twice

    @torch.inference_mode()
    def probabilities(self, token: int) -> list[list[float]]:
        """Return P(token | context, text[:i]) for each row and each i below len(text): the p_i of Toolformer."""
        values = []
        for logits in self._logits:
            row_logits = logits.float()
            values.append((row_logits[:, token] - row_logits.logsumexp(-1)).exp().tolist())
        return values

    @torch.inference_mode()
    def sample(
        self,
        beginnings: Sequence[SampleStart],
        token: int,
        temperature: float,
        most_tokens: int,
        stop: str,
        possible: Callable[[str], bool],
        together: int = MOST_SAMPLED,
    ) -> list[list[SampledText]]:
        """Sample a text behind `token` for each beginning and each of its seeds, from softmax(logits / temperature).

        A sample ends at `stop`, at the end token, after `most_tokens`, or as soon as its text is not `possible`. What
        it draws depends on its seed and its beginning alone. Beginnings grow in groups that have at most `together`
        tokens, or one beginning. The tree is used up: samples can be drawn once.
        """
        self._logits = []
        longest = max((one.length + 1 + most_tokens for one in beginnings), default=0)
        masked = _follows_masks(self.lm) and all(
            longest <= size
            for size in attention_windows(self.lm.model.config.get_text_config(decoder=True)).values()
        )
        results: list[list[SampledText]] = [[SampledText("", False)] * len(one.seeds) for one in beginnings]
        columns = self._cache.layers[0].keys.shape[2] if masked else 0
        groups = _groups([len(one.seeds) * (most_tokens + 1) for one in beginnings], together)
        for group in groups:
            # The rows stay for the groups that follow.
            stable_columns = columns if group is not groups[-1] else 0
            self._grow(
                group,
                beginnings,
                results,
                (token, temperature, most_tokens, stop),
                possible,
                masked,
                stable_columns,
            )
            for layer in self._cache.layers if stable_columns else ():
                layer.keys, layer.values = (
                    part[:, :, :stable_columns].clone() for part in (layer.keys, layer.values)
                )
        return results

    def _grow(
        self,
        group: Sequence[int],
        beginnings: Sequence[SampleStart],
        results: list[list[SampledText]],
        how: tuple[int, float, int, str],
        possible: Callable[[str], bool],
        masked: bool,
        stable_columns: int,
    ) -> None:
        """Put the samples of the beginnings of these numbers into `results`; the first `stable_columns` stay."""
        token, temperature, most_tokens, stop = how
        nodes = [
            _TextNode(
                [token],
                beginnings[number].length,
                [(number, place, Random(seed)) for place, seed in enumerate(beginnings[number].seeds)],
            )
            for number in group
        ]
        visible = self._seen([beginnings[number] for number in group]) if masked else None
        while nodes:
            if visible is None:
                texts = [
                    [*self._rows[beginnings[it.samples[0][0]].row][: it.length], *it.ids] for it in nodes
                ]
                drawn = _draw(_last_logits(self.lm, texts), temperature, nodes)
            else:
                drawn, visible = self._step(nodes, visible, temperature)
            children = [
                (number, child)
                for number, (node, tokens) in enumerate(zip(nodes, drawn, strict=True))
                for child in node.children(tokens)
            ]
            nodes, parents = [], []
            for number, child in children:
                text, ended = self._read(child, stop)
                closed = ended or child.ids[-1] == self.lm.tokenizer.end
                if not closed and len(child.ids) <= most_tokens and possible(text):
                    nodes.append(child)
                    parents.append(number)
                for beginning, place, _ in child.samples:
                    results[beginning][place] = SampledText(text, ended)
            if nodes and visible is not None:
                visible = _compact(self._cache, visible[parents], stable_columns)

    def _seen(self, beginnings: Sequence[SampleStart]) -> torch.Tensor:
        """Return the columns that each beginning sees: those of the prefix, and its row's up to its length."""
        columns = self._cache.layers[0].keys.shape[2]
        visible = torch.zeros(len(beginnings), columns, dtype=torch.bool, device=self.lm.device)
        starts = list(
            accumulate((beginning - self.shared for beginning in self.lengths), initial=self.shared)
        )
        visible[:, : self.shared] = True
        for number, beginning in enumerate(beginnings):
            start = starts[beginning.row]
            visible[number, start : start + beginning.length - self.shared] = True
        return visible

    def _read(self, node: _TextNode, stop: str) -> tuple[str, bool]:
        """The text of a node up to the stop string, and whether it has one."""
        # The first id is the token that all samples begin behind.
        ids = node.ids[1:]
        text, mark, _ = self.lm.tokenizer.decode(ids).partition(stop)
        return text, bool(mark)

    def _step(
        self, nodes: Sequence[_TextNode], visible: torch.Tensor, temperature: float
    ) -> tuple[list[list[int]], torch.Tensor]:
        """Draw the next token of each sample of each node; return also what each node sees then, its own column too."""
        lm, old = self.lm, visible.shape[1]
        visible = torch.cat([visible, torch.eye(len(nodes), dtype=torch.bool, device=visible.device)], dim=1)
        drawn: list[list[int]] = []
        for first in range(0, len(nodes), self._most_nodes):
            part = nodes[first : first + self._most_nodes]
            last = first + len(part)
            allowed = visible[first:last, : old + last]
            ids = [node.ids[-1] for node in part]
            places = [node.length + len(node.ids) - 1 for node in part]
            logits = _masked_logits(lm, ids, places, allowed, self._cache)
            drawn += _draw(logits, temperature, part)
        return drawn, visible


def _last_logits(lm: LanguageModel, texts: Sequence[Sequence[int]]) -> torch.Tensor:
    """The logits behind each text, (texts, vocabulary) in float32, each read from its beginning."""
    rows: list[torch.Tensor] = []
    together = max(1, PASS // max(map(len, texts)))
    for first in range(0, len(texts), together):
        part = texts[first : first + together]
        places = sorted({len(ids) - 1 for ids in part})
        logits = logits_at(lm, part, places)
        rows += [row_logits[places.index(len(ids) - 1)] for row_logits, ids in zip(logits, part, strict=True)]
    return torch.stack(rows).float()


# Tokens of a text, and of another one behind it.
_COMPARED = (10, 20)
# The models that were compared, with the result.
_FOLLOWS: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def _follows_masks(lm: LanguageModel) -> bool:
    """Return True if a token sees what a mask lets it see, and its position is the one that is passed."""
    if lm.engine is not Engine.PADDED:
        return lm.engine is Engine.ROWS
    if lm.model not in _FOLLOWS:
        with in_float32(lm.model):
            _FOLLOWS[lm.model] = _compare(lm)
    return _FOLLOWS[lm.model]


def _compare(lm: LanguageModel) -> bool:
    """Return True if two tokens give the logits of their own texts, where tokens of another text are in between."""
    ids = lm.tokenizer.continuation(TEXT)[: sum(_COMPARED)]
    begin, pair = ids[: _COMPARED[0]], [ids[0], ids[-1]]
    cache: Any = DynamicCache()
    try:
        lm.model(input_ids=torch.tensor([ids], device=lm.device), past_key_values=cache, use_cache=True)
        own_columns = torch.eye(2, dtype=torch.bool, device=lm.device)
        others = own_columns.new_zeros(2, len(ids) - len(begin))
        visible = torch.cat([own_columns.new_ones(2, len(begin)), others, own_columns], dim=1)
        logits = _masked_logits(lm, pair, [len(begin)] * 2, visible, cache)
    except Exception:  # a model of any kind fails in its own way
        return False
    reference = _last_logits(lm, [[*begin, one] for one in pair])
    return all(nearly_equal(one, other, lm.model.dtype) for one, other in zip(logits, reference, strict=True))


def _masked_logits(
    lm: LanguageModel, ids: Sequence[int], places: Sequence[int], visible: torch.Tensor, cache: Any
) -> torch.Tensor:
    """The logits behind ids at these places, (ids, vocabulary) in float32, of which each sees columns of the cache.

    The cache has the ids afterwards.
    """
    mask = torch.zeros(visible.shape, dtype=lm.model.dtype, device=lm.device)
    mask.masked_fill_(~visible, torch.finfo(mask.dtype).min)
    result = lm.model(
        input_ids=torch.tensor([list(ids)], device=lm.device),
        attention_mask=mask[None, None],
        position_ids=torch.tensor([list(places)], device=lm.device),
        past_key_values=cache,
        use_cache=True,
    )
    logits: torch.Tensor = result.logits[0].float()
    return logits


@dataclass(frozen=True)
class _TextNode:
    """Samples that have the same tokens so far: `ids`, behind the first `length` ids of their row.

    Each sample is the number of its beginning, its place there, and what it draws from.
    """

    ids: list[int]
    length: int
    samples: list[tuple[int, int, Random]]

    def children(self, tokens: Sequence[int]) -> list[_TextNode]:
        """The samples by the token that each has drawn, in the order of the first that drew it."""
        groups: dict[int, list[tuple[int, int, Random]]] = {}
        for token, sample in zip(tokens, self.samples, strict=True):
            groups.setdefault(token, []).append(sample)
        return [_TextNode([*self.ids, token], self.length, samples) for token, samples in groups.items()]


def _row_columns(part: torch.Tensor, shared: int, lengths: Sequence[int]) -> list[torch.Tensor]:
    """The columns of each row behind those that all share, without padding."""
    return [part[row : row + 1, :, shared:length] for row, length in enumerate(lengths)]


def _draw(logits: torch.Tensor, temperature: float, nodes: Sequence[_TextNode]) -> list[list[int]]:
    """A token for each sample of each node: where a uniform number falls in the cumulated probabilities."""
    cumulated = (logits / temperature).softmax(-1).double().cumsum(-1)
    widest = max(len(node.samples) for node in nodes)
    uniform = [
        [random.random() for _, _, random in node.samples] + [0.0] * (widest - len(node.samples))
        for node in nodes
    ]
    targets = torch.tensor(uniform, dtype=torch.float64, device=logits.device) * cumulated[:, -1:]
    places = torch.searchsorted(cumulated, targets, right=True).clamp(max=logits.shape[1] - 1).tolist()
    return [row[: len(node.samples)] for row, node in zip(places, nodes, strict=True)]


def _groups(tokens: Sequence[int], room_of_group: int) -> list[list[int]]:
    """Group the numbers of neighbours that fit into `room_of_group` together; one that has more is alone."""
    groups: list[list[int]] = []
    room = 0
    for number, count in enumerate(tokens):
        if not groups or count > room:
            groups.append([])
            room = room_of_group
        groups[-1].append(number)
        room -= count
    return groups


def _compact(cache: Any, visible: torch.Tensor, stable_columns: int) -> torch.Tensor:
    """Remove the columns that no node sees once they are more than half of all; return what each node sees of the rest.

    The first `stable_columns` stay.
    """
    used = visible.any(0)
    used[:stable_columns] = True
    if 2 * int(used.sum()) > visible.shape[1]:
        return visible
    columns = used.nonzero()[:, 0]
    for layer in cache.layers:
        layer.keys, layer.values = layer.keys[:, :, columns], layer.values[:, :, columns]
    return visible[:, columns]
