"""Many samples of one prompt, computed once where they are alike.

The prompt is read once. Samples that have drawn the same tokens so far are one row of a pass: each draws its next token
with its own random numbers from the logits of that row, so samples are distributed as independent ones. Rows are read
without padding and do not depend on those beside them (`rows`): a sample is the one that its generator would draw
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from nightjar.lm.forward import causal_only
from nightjar.lm.load import LanguageModel
from nightjar.lm.rows import Pool, Segment, advance
from nightjar.lm.sample import Sampling

# Rows of a pass, if the caller does not say: enough for fast matrix products. Their logits are the largest tensors.
ROWS = 64


@dataclass(frozen=True)
class Sample:
    """A sampled text before its stop string `stop`; None: it ended at the end token or by its number of tokens.

    `tokens` counts those drawn, the end token included.
    """

    text: str
    stop: str | None
    tokens: int


@dataclass(frozen=True)
class Ends:
    """What ends a sample: one of the texts `stop`, and a number of tokens."""

    max_new_tokens: int
    stop: Sequence[str] = ()


def samples(
    lm: LanguageModel,
    ids: Sequence[int],
    count: int,
    sampling: Sampling,
    ends: Ends,
    rows: int = ROWS,
    tokens: int | None = None,
) -> list[Sample]:
    """`count` continuations of the prompt `ids` (at least one), in the order of their numbers.

    Sample n draws with the generator of row n of `sampling`: it depends on the model, the prompt and this generator
    alone. At most `rows` rows are read in a pass. `tokens` bounds those of all rows in memory, prompts and limits
    included: samples that would need more are drawn one group after another. Raises NightjarError for an
    encoder-decoder.
    """
    causal_only(lm, "drawing samples of a prompt")
    most = len(ids) + ends.max_new_tokens
    group = max(1, count if tokens is None else tokens // most)
    tree = _Tree(lm, ids, sampling, ends, rows)
    found: dict[int, Sample] = {}
    for first in range(0, count, group):
        found.update(tree.grow(range(first, min(first + group, count))))
    return [found[number] for number in range(count)]


@dataclass(eq=False)
class _Node:
    """Samples that have drawn the same `ids` so far.

    `samples` has the number and the generator of each. `segment` has what was read: first the parent's, then the
    node's own. `unread`: children that were not read yet.
    """

    ids: list[int]
    samples: list[tuple[int, torch.Generator]]
    segment: Segment
    parent: _Node | None = None
    unread: int = 0


class _Tree:
    """The rows of a prompt's samples."""

    @torch.inference_mode()
    def __init__(
        self, lm: LanguageModel, ids: Sequence[int], sampling: Sampling, ends: Ends, rows: int
    ) -> None:
        self.lm, self.sampling, self.ends, self.rows = lm, sampling, ends, rows
        self.pool, self.most = Pool(), len(ids) + ends.max_new_tokens
        self.prompt = self.pool.take(self.most)
        self.logits = advance(lm, self.pool, [(self.prompt, ids)])

    @torch.inference_mode()
    def grow(self, numbers: Sequence[int]) -> Iterator[tuple[int, Sample]]:
        """The samples of these numbers, as they end."""
        root = _Node([], [(number, self.sampling.generator(number)) for number in numbers], self.prompt)
        waiting: list[_Node] = []
        nodes, logits = [root], self.logits
        while nodes:
            drawn = self.sampling.draws(logits, [[own for _, own in node.samples] for node in nodes])
            for node, tokens in zip(nodes, drawn, strict=True):
                for child in _children(node, tokens):
                    sample = self._ended(child)
                    if sample is None:
                        waiting.append(child)
                        node.unread += 1
                    else:
                        yield from ((number, sample) for number, _ in child.samples)
                if not node.unread and node is not root:
                    self.pool.free(node.segment)
            nodes, waiting = waiting[: self.rows], waiting[self.rows :]
            if nodes:
                logits = self._read(nodes)

    def _ended(self, node: _Node) -> Sample | None:
        """The sample of a node that is at its end."""
        if node.ids[-1] == self.lm.tokenizer.end:
            return Sample(self.lm.tokenizer.decode(node.ids[:-1]), None, len(node.ids))
        text = self.lm.tokenizer.decode(node.ids)
        place, stop = min(
            ((place, mark) for mark in self.ends.stop if (place := text.find(mark)) >= 0),
            default=(len(text), None),
        )
        if stop is None and len(node.ids) < self.ends.max_new_tokens:
            return None
        return Sample(text[:place], stop, len(node.ids))

    def _read(self, nodes: Sequence[_Node]) -> torch.Tensor:
        """The logits behind the last token of each node, (rows, vocabulary)."""
        copied = []
        for node in nodes:
            parent = node.parent
            assert parent is not None
            parent.unread -= 1
            # The last child continues its parent's row, the others continue copies of it.
            if parent.unread or parent.parent is None:
                node.segment = self.pool.take(self.most)
                copied.append((parent.segment, node.segment))
        self.pool.copy(copied)
        return advance(self.lm, self.pool, [(node.segment, node.ids[-1:]) for node in nodes])


def _children(node: _Node, tokens: Sequence[int]) -> list[_Node]:
    """The samples by the token that each has drawn, in the order of the first that drew it."""
    groups: dict[int, list[tuple[int, torch.Generator]]] = {}
    for token, sample in zip(tokens, node.samples, strict=True):
        groups.setdefault(token, []).append(sample)
    return [_Node([*node.ids, token], some, node.segment, node) for token, some in groups.items()]
